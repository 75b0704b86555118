/// What a connection's bytes fall into.
package enum Frame: Sendable, Equatable {
  /// One line without its line end, and not blank.
  case line([UInt8])

  /// A line longer than allowed; its bytes are gone, up to its line end.
  case tooLong
}
