package import JSONText

/// A well-formed request: its envelope and its params hold no unknown or repeated member.
package struct Request: Sendable {
  package let id: RequestID

  /// Not empty; whether there is such a method is for others to say.
  package let method: String

  /// An object, without repeated members of its own; nil when absent. Keeps the storage of the whole line
  /// alive.
  package let params: JSON?
}
