/// What becomes of the process when its last host is gone (protocol, section 5).
package enum OnDisconnect: Sendable, Equatable {
  /// Transfers stop, all state is kept, the process ends.
  case exit
  /// As `drain`, but at most so long.
  case stay(seconds: Int64)
  /// Until no entry is running or queued.
  case drain

  /// `exit`, `drain` or `stay:SECONDS`, 1 to 2^31 - 1 seconds; nil for anything else.
  package init?(_ text: String) {
    switch text {
    case "exit": self = .exit
    case "drain": self = .drain
    default:
      guard text.hasPrefix("stay:"), let seconds = Int32(text.dropFirst(5)), seconds > 0 else { return nil }
      self = .stay(seconds: Int64(seconds))
    }
  }

  package var text: String {
    switch self {
    case .exit: "exit"
    case .stay(let seconds): "stay:\(seconds)"
    case .drain: "drain"
    }
  }

  /// How long the process may go on alone, ms.
  var patience: Int64 {
    switch self {
    case .exit: 0
    case .stay(let seconds): seconds * 1000
    case .drain: .max
    }
  }

  /// The one that goes on longer.
  func lasting(_ other: OnDisconnect) -> OnDisconnect { other.patience > patience ? other : self }
}
