/// Content that RFC 8259's grammar allows and that can nevertheless not be kept (protocol.md section 1).
package struct Unfit: Sendable, Equatable {
  package enum Reason: Sendable, Equatable, CaseIterable {
    /// A `\ud800` to `\udfff` escape without its other half.
    case loneSurrogate
    /// An array or object that more than `JSON.maxDepth` - 1 others enclose.
    case tooDeep
    /// A number beyond the largest finite double, such as `1e400`.
    case numberOutOfRange

    /// What is right, for people.
    package var message: String {
      switch self {
      case .loneSurrogate: "a \\ud800 to \\udfff escape must be one half of a surrogate pair"
      case .tooDeep: "arrays and objects nest at most \(JSON.maxDepth) deep"
      case .numberOutOfRange: "a number must fit in a double"
      }
    }
  }

  package let reason: Reason

  /// The byte where the surrogate escape, the bracket or the number begins, from 0.
  package let offset: Int

  /// Where it stands, such as `params.vars[3].a`; empty when it is the outermost value itself.
  package let path: String
}
