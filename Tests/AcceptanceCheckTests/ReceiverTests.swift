import Glibc
import Testing

@testable import AcceptanceCheck

/// A client of the receiver, whose bytes lie in the socket until the receiver's watch waits.
private final class Client {
  private let descriptor: Int32

  init(of receiver: Receiver) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = receiver.port.bigEndian
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Unexpected() }
  }

  deinit { close(descriptor) }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// What has come by now; nil after a reset.
  func read() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count < 0 && errno == ECONNRESET { return nil }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }
}

@Suite("The receiver does to each path what a stage wants")
struct ReceiverTests {
  private let watch = Watch(within: 20_000)

  private func post(_ path: String, _ body: String) -> String {
    "POST \(path) HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// The answer's first line.
  private func answer(to client: Client) throws -> String {
    var text = ""
    try watch.wait(for: "an answer", within: 10_000) {
      text += client.read() ?? "reset"
      return text.contains("\r\n\r\n") || text.contains("reset")
    }
    return String(text.prefix { $0 != "\r\n" })
  }

  @Test("500, then 201, on one connection; the body is counted and hashed")
  func answers() throws {
    let receiver = try Receiver(on: watch)
    #expect(receiver.serve("/a", [.answer(500), .answer(201)]) == "http://127.0.0.1:\(receiver.port)/a")
    let client = try Client(of: receiver)
    for status in [500, 201, 201] {
      client.send(post("/a", "abc"))
      #expect(try answer(to: client) == "HTTP/1.1 \(status) Said")
    }
    let requests = receiver.requests("/a")
    #expect(requests.map(\.status) == [500, 201, 201])
    #expect(requests.map(\.count) == [3, 3, 3])
    #expect(requests[1].sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test("cut resets the connection once enough of the body came")
  func cut() throws {
    let receiver = try Receiver(on: watch)
    _ = receiver.serve("/a", [.cut(after: 4)])
    let client = try Client(of: receiver)
    client.send("POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
    try watch.wait(for: "3 bytes", within: 10_000) { receiver.requests("/a").first?.count == 3 }
    #expect(client.read() == "")
    client.send("de")
    #expect(try answer(to: client) == "reset")
    #expect(receiver.requests("/a").map(\.status) == [nil])
  }

  @Test("hold stops reading and never answers, while other connections go on")
  func hold() throws {
    let receiver = try Receiver(on: watch)
    _ = receiver.serve("/a", [.hold(after: 2), .answer(201)])
    let held = try Client(of: receiver)
    held.send("POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nab")
    try watch.wait(for: "2 bytes", within: 10_000) { receiver.requests("/a").first?.count == 2 }
    held.send("cdefghij")
    let other = try Client(of: receiver)
    other.send(post("/a", "x"))
    #expect(try answer(to: other) == "HTTP/1.1 201 Said")
    #expect(receiver.requests("/a").map(\.count) == [2, 1])
    #expect(held.read() == "")
    receiver.reset()
    #expect(receiver.requests("/a").isEmpty)
    #expect(held.read() == nil)
  }

  @Test("what no stage asked for is refused and counted: another path, too long a body, no HTTP")
  func refusals() throws {
    let receiver = try Receiver(on: watch)
    _ = receiver.serve("/a", [.answer(201)])
    for (request, status) in [
      (post("/b", ""), 404), ("x\r\n\r\n", 400),
      ("POST /a HTTP/1.1\r\nContent-Length: \(Receiver.maxBody + 1)\r\n\r\n", 413),
    ] {
      let client = try Client(of: receiver)
      client.send(request)
      #expect(try answer(to: client) == "HTTP/1.1 \(status) Said")
    }
    #expect(receiver.refusals == [404, 400, 413])
    #expect(receiver.requests("/a").isEmpty)
  }

  @Test("a wait ends with its time and names what it waited for; an interrupt ends every wait")
  func waits() {
    let watch = Watch(within: 60)
    #expect(throws: Setback.unmet("not within 0 s: rain")) {
      try watch.wait(for: "rain", within: 10_000) { false }
    }
    #expect(watch.timeLeft == 0)
    let other = Watch(within: 10_000)
    other.interrupt(15)
    #expect(throws: Setback.interrupted(15)) { try other.wait(for: "rain", within: 10_000) { true } }
  }
}
