import QueueModel
import Synchronization

/// Keeps what it was told to send until the test says what came of it.
final class ScriptedTransport: Transport {
  private struct Content {
    var started: [Transmission] = []
    var running: [AttemptID: Transmission] = [:]
    var stopped: [AttemptID] = []
    var reports: [(AttemptID, TransportReport)] = []
    var onStart: (@Sendable (Transmission) -> Void)?
    var bandwidth = Bandwidth()
  }

  private let content = Mutex(Content())

  func start(_ transmission: Transmission) {
    let onStart = content.withLock { content in
      content.started.append(transmission)
      content.running[transmission.attempt] = transmission
      return content.onStart
    }
    onStart?(transmission)
  }

  func stop(_ attempt: AttemptID) {
    content.withLock {
      $0.running[attempt] = nil
      $0.stopped.append(attempt)
    }
  }

  func configure(_ settings: ConnectionSettings) {}

  func limit(_ bandwidth: Bandwidth) { content.withLock { $0.bandwidth = bandwidth } }

  /// What was set last.
  var bandwidth: Bandwidth { content.withLock { $0.bandwidth } }

  /// Called inside `start`, before it returns.
  func onStart(_ body: @escaping @Sendable (Transmission) -> Void) { content.withLock { $0.onStart = body } }

  /// Every transmission so far, in order.
  var started: [Transmission] { content.withLock { $0.started } }

  /// By creation number, parts by index.
  var running: [Transmission] {
    content.withLock { content in
      content.running.values.sorted {
        ($0.attempt.entry, $0.attempt.part ?? 0) < ($1.attempt.entry, $1.attempt.part ?? 0)
      }
    }
  }

  var stopped: [AttemptID] { content.withLock { $0.stopped } }

  /// The process died: nothing runs, nothing is reported.
  func forgetAll() {
    content.withLock {
      $0.running = [:]
      $0.reports = []
    }
  }

  func takeReports() -> [(AttemptID, TransportReport)] {
    content.withLock { content in
      defer { content.reports = [] }
      return content.reports
    }
  }

  /// The result of an attempt, also of one that was stopped: a late result.
  func finish(_ attempt: AttemptID, _ result: AttemptResult) {
    content.withLock {
      $0.running[attempt] = nil
      $0.reports.append((attempt, .finished(result)))
    }
  }

  func progress(_ attempt: AttemptID, _ bytes: Int64) {
    content.withLock { $0.reports.append((attempt, .progress(bytesSent: bytes))) }
  }
}

extension AttemptResult {
  /// An answer to a request that went out whole.
  static func answer(
    _ status: Int, body: String = "", headers: [(name: String, value: String)] = [],
    _ completeness: Answer.Completeness = .whole
  ) -> AttemptResult {
    AttemptResult(
      answer: Answer(status: status, headers: headers, body: Array(body.utf8), completeness: completeness),
      requestWentWhole: true, bytesSent: 0, bytesReceived: 10)
  }

  /// No answer.
  static func failure(_ cause: TransferFailure.Cause, reused: Bool = false) -> AttemptResult {
    AttemptResult(
      failure: TransferFailure(cause, "scripted"), requestWentWhole: false, connectionWasReused: reused)
  }
}
