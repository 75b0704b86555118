import Glibc
import QueueEngine
package import QueueModel
import Synchronization

/// The log on a descriptor that others may hold too, so its flags are left alone: a thread of its own does
/// the writing and may wait for a reader for ever, and nobody waits for it. What finds no room meanwhile is
/// left out, and told once somebody reads on.
package final class DescriptorLog: Log {
  package let threshold: LogLevel
  private let descriptor: Int32
  private let form: LogForm
  private let clock: @Sendable () -> Int64
  private let content = Mutex(Content())
  private let arrivals = Semaphore()

  private struct Content {
    var queue = LogQueue()
    /// The thread runs; a log that has nothing to say has none.
    var isStarted = false
    /// Taken and not written yet.
    var isWriting = false
    /// The last line was said.
    var isOver = false
    /// Whoever waits for everything to be written.
    var onEmpty: Waker?
  }

  /// - Parameter clock: ms since the epoch.
  package init(
    descriptor: Int32 = 2, form: LogForm, threshold: LogLevel,
    clock: @escaping @Sendable () -> Int64 = { SystemClock.wallTime() }
  ) {
    self.descriptor = descriptor
    self.form = form
    self.threshold = threshold
    self.clock = clock
  }

  package func write(_ line: LogLine) {
    guard wants(line.level) else { return }
    let bytes = form.bytes(of: line, at: clock())
    add { $0.queue.put(bytes) }
  }

  /// The reason of a bad exit, as the last line there is; waits a little for it to be written.
  package func end(_ reason: String) {
    let bytes =
      switch form {
      case .text: Array("outtray: \(reason)\n".utf8)
      case .json: form.bytes(of: LogLine(.error, reason), at: clock())
      }
    add { content in
      content.queue.last = bytes
      content.isOver = true
      return true
    }
    flush()
  }

  /// Until everything is written, but not for long: nobody may be reading.
  package func flush(milliseconds: Int32 = 300) {
    guard let waker = try? Waker() else { return }
    let isBusy = content.withLock { content in
      guard content.isStarted, content.isWriting || !content.queue.isEmpty else { return false }
      content.onEmpty = waker
      return true
    }
    guard isBusy else { return }
    var empty = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
    poll(&empty, 1, milliseconds)
  }

  /// `change` says whether there is more to write.
  private func add(_ change: (inout Content) -> Bool) {
    let (hasMore, starts) = content.withLock { content in
      guard !content.isOver, change(&content) else { return (false, false) }
      defer { content.isStarted = true }
      return (true, !content.isStarted)
    }
    if starts { start() }
    if hasMore { arrivals.post() }
  }

  /// Signals go to the loop, whichever thread was made first.
  private func start() {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    // Without a thread, lines go nowhere; the process has other troubles then.
    try? Thread.start { [self] in run() }
  }

  private func run() {
    while true {
      arrivals.wait()
      let (lines, leftOut, last) = content.withLock { content in
        content.isWriting = true
        return content.queue.take()
      }
      writeAll(lines)
      if leftOut > 0 {
        let notice = LogLine(
          .warn, "lines were left out, since nobody read on", [LogLine.Field("count", Int64(leftOut))])
        writeAll([form.bytes(of: notice, at: clock())])
      }
      if let last { writeAll([last]) }
      let waiting: Waker? = content.withLock { content in
        content.isWriting = false
        guard content.queue.isEmpty else { return nil }
        defer { content.onEmpty = nil }
        return content.onEmpty
      }
      waiting?.wake()
    }
  }

  /// Whole lines, together while they fit into what a pipe takes in one piece.
  private func writeAll(_ lines: [[UInt8]]) {
    var piece: [UInt8] = []
    for line in lines {
      if piece.count + line.count > DescriptorLog.pieceSize {
        _ = SidecarServer.writeAll(piece, to: descriptor)
        piece = []
      }
      piece += line
    }
    _ = SidecarServer.writeAll(piece, to: descriptor)
  }

  /// PIPE_BUF: nobody else's line comes between the bytes of such a piece.
  private static let pieceSize = 4096
}
