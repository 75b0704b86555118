import Glibc

/// How a command that somebody typed reaches the process that serves a queue.
package enum Visit {
  /// A connection to the process that serves `directory`, greeted as a visitor: it takes requests and gives
  /// answers and events like any other, but the process neither stays for it nor ends with it. The caller
  /// closes it. nil when nobody serves there, or does not answer before `deadline`, boot clock in ms.
  package static func begin(to directory: String, deadline: Int64) -> Int32? {
    guard let owner = AttachPoint.connect(to: directory) else { return nil }
    guard AttachGreeting.exchange(.visitor, on: owner, before: deadline) else {
      close(owner)
      return nil
    }
    return owner
  }
}
