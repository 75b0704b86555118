package import OuttrayProtocol
package import QueueStore

/// Exit statuses, after sysexits.h but for `no`.
package enum Status {
  package static let success: Int32 = 0
  /// The command ran, and the answer is no: an id that nobody has, a check that does not hold.
  package static let no: Int32 = 1
  package static let usage: Int32 = 64
  package static let internalError: Int32 = 70
  package static let cannotCreate: Int32 = 73
  package static let temporaryFailure: Int32 = 75
}

/// Why a command ends without having done what it was asked for.
package struct Failure: Error, Sendable {
  package let status: Int32
  /// The last line of stderr.
  package let message: String
  /// What an answer that refuses says in `data.code`.
  package var code: ErrorCode?
  /// Tried again it may go well: the process at the far end has ended, or another one holds the queue.
  var isPassing = false

  package init(_ status: Int32, _ message: String) {
    self.status = status
    self.message = message
  }

  package static func usage(_ message: String) -> Failure { Failure(Status.usage, message) }

  package init(_ error: StoreError) {
    let status = error.isLocked || error.isBusy ? Status.temporaryFailure : Status.cannotCreate
    self.init(status, error.message)
    isPassing = error.isLocked
  }
}
