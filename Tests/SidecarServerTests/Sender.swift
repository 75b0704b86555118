import Foundation

/// Sends lines from a thread of its own, since a wire that waits takes no more.
final class Sender: Sendable {
  private let station: Station
  private let lines: [String]
  private let done = DispatchSemaphore(value: 0)

  init(_ station: Station, _ lines: [String]) {
    self.station = station
    self.lines = lines
  }

  func start() {
    Thread.detachNewThread { [self] in
      for line in lines { station.send(line) }
      done.signal()
    }
  }

  /// False when not everything was taken within 5 s.
  func wait() -> Bool { done.wait(timeout: .now() + 5) == .success }
}
