import Foundation
import Synchronization
import Testing

@testable import HTTPTransport
@testable import QueueModel

/// A transport with its reports kept by attempt.
final class Client: Sendable {
  let transport: CurlTransport
  private let book: Book

  private final class Book: Sendable {
    struct Page {
      var progress: [Int64] = []
      var results: [AttemptResult] = []
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let pages = Mutex<[AttemptID: Page]>([:])

    func take(_ attempt: AttemptID, _ report: TransportReport) {
      let waiting = pages.withLock { pages in
        switch report {
        case .progress(let bytes): pages[attempt, default: Page()].progress.append(bytes)
        case .finished(let result): pages[attempt, default: Page()].results.append(result)
        }
        let waiting = pages[attempt]?.waiting ?? []
        pages[attempt]?.waiting = []
        return waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  private static let numbers = Atomic<Int64>(1)

  init(_ settings: ConnectionSettings = ConnectionSettings()) throws {
    TestEnvironment.prepare()
    let book = Book()
    self.book = book
    transport = try CurlTransport(settings: settings) { book.take($0, $1) }
  }

  deinit {
    transport.shutdown()
  }

  @discardableResult
  func start(
    _ method: HTTPMethod, _ url: String, headers: [(String, String)] = [], body: OutgoingBody = .none,
    timeouts: Timeouts = Timeouts(), attempt: AttemptID? = nil
  ) throws -> AttemptID {
    let number = Client.numbers.wrappingAdd(1, ordering: .relaxed).oldValue
    let attempt = attempt ?? AttemptID(entry: number, generation: 1, ordinal: 1)
    var fields = HeaderFields()
    for (name, value) in headers { fields.set(name, value) }
    let url = try RequestURL(reading: url, path: "url")
    transport.start(
      Transmission(
        attempt: attempt, url: url, method: method, headers: fields, body: body, timeouts: timeouts))
    return attempt
  }

  func perform(
    _ method: HTTPMethod, _ url: String, headers: [(String, String)] = [], body: OutgoingBody = .none,
    timeouts: Timeouts = Timeouts()
  ) async throws -> AttemptResult {
    await result(try start(method, url, headers: headers, body: body, timeouts: timeouts))
  }

  func result(_ attempt: AttemptID) async -> AttemptResult {
    while true {
      if let result = book.pages.withLock({ $0[attempt]?.results.first }) { return result }
      await nextReport(attempt) { $0.results.isEmpty }
    }
  }

  /// Waits until a progress report of at least `bytes` came.
  func progress(_ attempt: AttemptID, atLeast bytes: Int64) async {
    while (progress(attempt).last ?? 0) < bytes {
      await nextReport(attempt) { ($0.progress.last ?? 0) < bytes }
    }
  }

  func progress(_ attempt: AttemptID) -> [Int64] {
    book.pages.withLock { $0[attempt]?.progress ?? [] }
  }

  func results(_ attempt: AttemptID) -> [AttemptResult] {
    book.pages.withLock { $0[attempt]?.results ?? [] }
  }

  private func nextReport(_ attempt: AttemptID, while lacks: (Book.Page) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isThere = book.pages.withLock { pages in
        guard lacks(pages[attempt, default: Book.Page()]) else { return true }
        pages[attempt, default: Book.Page()].waiting.append(continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
  }
}

/// What the process needs before the first transport.
enum TestEnvironment {
  /// The environment's proxy, for every host but those of loopback.
  static let proxy = RawServer { peer in
    while true {
      let request = try peer.readRequest()
      try peer.answer(request.line.hasPrefix("CONNECT ") ? "407 No" : "200 OK")
    }
  }

  private static let prepared: Void = {
    setlocale(LC_CTYPE, "C.UTF-8")
    for name in ["http_proxy", "https_proxy"] { setenv(name, "http://127.0.0.1:\(proxy.port)", 1) }
    setenv("no_proxy", "127.0.0.1,::1,fe80::1,localhost,.localhost,.invalid", 1)
    for name in ["all_proxy", "ALL_PROXY", "NO_PROXY", "HTTPS_PROXY"] { unsetenv(name) }
  }()

  static func prepare() {
    prepared
  }
}

extension Timeouts {
  init(connectMs: Int64 = 30_000, stallMs: Int64 = 60_000, responseMs: Int64 = 300_000) {
    self.init()
    self.connectMs = connectMs
    self.stallMs = stallMs
    self.responseMs = responseMs
  }
}

extension DispatchSemaphore {
  /// Waits for a signal without holding up the other tests.
  func isSignalled(within seconds: Double = 10) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread { [self] in
        continuation.resume(returning: wait(timeout: .now() + seconds) == .success)
      }.start()
    }
  }
}
