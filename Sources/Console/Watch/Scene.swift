import QueueModel

/// All that the screen shows, as a value. Texts of others are in it as they came.
struct Scene: Sendable {
  var directory = ""
  /// Only entries of this key are shown and counted.
  var key: String?
  var server = Server.nobody
  var counts: [Row.State: Int64] = [:]
  /// Bytes a second, of all; nil when nothing is known of it.
  var speed: Int64?
  var isPaused = false
  var pausedKeys: [String] = []
  /// What entries that wait for Wi-Fi are told, where the queue or its network says so.
  var network: String?
  var order = Order.runningFirst
  var filter = Filter.all
  /// At least as many as are shown, if there are.
  var items: [Item] = []
  /// Position among `items`.
  var selected = 0
  var mode = Mode.rows
  /// What was done, or went wrong.
  var message: String?

  enum Server: Sendable, Equatable {
    case nobody
    case process(Int64)
    /// It has not answered for some seconds.
    case silent(Int64)
  }

  enum Mode: Sendable, Equatable {
    case rows, help
    /// Cancel this entry?
    case asking(id: String)
  }

  struct Item: Sendable {
    var id: String
    var key: String
    var state: Row.State
    var sent: Int64 = 0
    var total: Int64 = 0
    var attempts: Int64 = 0
    var speed: Int64?
    /// ms
    var timeLeft: Int64?
    /// Why it waits, or how it ended; empty for one that is being sent.
    var words = ""
  }

  enum Order: Sendable, CaseIterable {
    case runningFirst, oldest, newest

    var words: String {
      switch self {
      case .runningFirst: "running first"
      case .oldest: "oldest first"
      case .newest: "newest first"
      }
    }
  }

  enum Filter: Sendable, CaseIterable {
    case all, running, waiting, failed

    var words: String {
      switch self {
      case .all: "all"
      case .running: "only running"
      case .waiting: "only waiting"
      case .failed: "only failed"
      }
    }
  }
}

extension CaseIterable where Self: Equatable {
  /// The one behind it; the first behind the last.
  var next: Self {
    let all = Array(Self.allCases)
    return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
  }
}
