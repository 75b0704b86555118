import Glibc

/// What a command has around it: where it writes to, and the ways to the engine of a queue.
package struct Surroundings: Sendable {
  package let output: Output
  package let doors: Doors

  package init(output: Output, doors: Doors) {
    self.output = output
    self.doors = doors
  }

  /// A remark beside the output, on stderr.
  package func remark(_ message: String) {
    let line = Array("outtray: \(message)\n".utf8)
    _ = write(2, line, line.count)
  }

  /// Of a command that waits; said once for as long as that lasts.
  func remarkThatNobodyServes(_ hasSaidSo: inout Bool) {
    if !hasSaidSo { remark("nobody serves the queue; waiting until outtray serve does") }
    hasSaidSo = true
  }
}

/// The ways to the engine of a queue; the program has them.
package struct Doors: Sendable {
  /// A connection to the process that serves the queue in `directory`, as a visitor; nil when none does, or
  /// does not answer within `patience` ms.
  package let attach: @Sendable (_ directory: String, _ patience: Int64) -> Int32?
  /// Holds the queue and runs an engine that sends nothing, as long as the connection is open; throws
  /// status 75 while another process holds it.
  package let hold: @Sendable (_ directory: String) throws(Failure) -> HeldQueue

  package init(
    attach: @escaping @Sendable (String, Int64) -> Int32?,
    hold: @escaping @Sendable (String) throws(Failure) -> HeldQueue
  ) {
    self.attach = attach
    self.hold = hold
  }
}

/// A queue that this process holds for a change.
package struct HeldQueue: Sendable {
  /// The far end is the engine's.
  package let connection: Int32
  /// Waits until the queue is let go, after the connection was closed.
  package let waitForEnd: @Sendable () -> Void

  package init(connection: Int32, waitForEnd: @escaping @Sendable () -> Void) {
    self.connection = connection
    self.waitForEnd = waitForEnd
  }
}
