/// What one stage showed.
struct Evidence: Equatable {
  enum Verdict: Equatable {
    case ok
    /// What was expected and what was found.
    case failed(String)
    /// The stage needs a server that the check runs itself.
    case notRun
  }

  /// A failure of an attempt that brought no answer.
  struct TransportError: Equatable {
    /// The protocol's name of its kind.
    var kind: String
    var message: String
  }

  let stage: String
  /// Of the file, bytes.
  var size = 0
  /// Bytes of the file that the receiver got in what it accepted; with a given server, body bytes sent.
  var bytes: Int64?
  /// As the outcome counts them.
  var attempts: Int64?
  /// Final statuses of the attempts, in order.
  var statuses: [Int64] = []
  /// Apart from the statuses: an attempt has the one or the other.
  var transportErrors: [TransportError] = []
  /// Of the file, hex.
  var sha256 = ""
  /// Of what arrived, hex; nil when nobody can tell.
  var sha256Arrived: String?
  var milliseconds: Int64 = 0
  var verdict = Verdict.ok

  init(stage: String) { self.stage = stage }

  /// nil when nobody can tell.
  var isSHA256Equal: Bool? { sha256Arrived.map { $0 == sha256 } }
}
