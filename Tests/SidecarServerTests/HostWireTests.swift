import Glibc
import Testing

@testable import SidecarServer

@Suite("Bytes between a host and its connection", .serialized)
struct HostWireTests {
  /// - Parameter padding: bytes of the request besides.
  static func request(_ id: Int, _ method: String = "echo", bytes: Int = 0, padding: Int = 0) -> String {
    let blank = String(repeating: " ", count: padding)
    return #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)",\#(blank)"params":{"bytes":\#(bytes)}}"#
      + "\n"
  }

  static func limits(maxLine: Int = 1 << 20, maxInFlight: Int = 4096) -> WireLimits {
    var limits = WireLimits()
    (limits.maxLine, limits.maxInFlight) = (maxLine, maxInFlight)
    return limits
  }

  @Test("Lines that come in pieces are whole", arguments: [Station.Kind.pipes, .socket])
  func pieces(_ kind: Station.Kind) throws {
    let station = try Station(kind, limits: Self.limits())
    defer { station.stop() }
    for character in Self.request(1) { station.send(String(character)) }
    station.send(Self.request(2) + Self.request(3))
    #expect(station.readLines(3).count == 3)
    station.closeHost()
    #expect(station.waitForEnd())
  }

  @Test(
    "A slow reader gets every reply whole, and what is kept stays bounded",
    arguments: [
      Station.Kind.pipes, .socket,
    ])
  func slowReader(_ kind: Station.Kind) throws {
    let station = try Station(kind, limits: Self.limits(maxLine: 100_000))
    defer { station.stop() }
    // All of them are more than one reading takes, however late that comes.
    let sender = Sender(station, (0..<500).map { Self.request($0, bytes: 10_000, padding: 4000) })
    sender.start()
    var most = 0
    for _ in 0..<50 {
      most = max(most, station.framesRead)
      usleep(2000)
    }
    #expect(most < 500, "everything was read though no reply was")
    let lines = station.readLines(500)
    #expect(lines.count == 500 && lines.allSatisfy { $0.utf8.count > 10_000 && $0.hasSuffix("}") })
    station.closeHost()
    #expect(station.waitForEnd())
  }

  @Test("At maxInFlight unanswered requests input waits, and goes on when they are answered")
  func inFlight() throws {
    let station = try Station(.pipes, limits: Self.limits(maxInFlight: 4))
    defer { station.stop() }
    for id in 0..<4 {
      station.send(Self.request(id, "hold"))
      #expect(station.until { station.framesRead == id + 1 })
    }
    station.send(Self.request(4) + Self.request(5))
    usleep(50_000)
    #expect(station.framesRead == 4)
    station.answerHeld()
    #expect(station.readLines(6).count == 6)
    station.closeHost()
    #expect(station.waitForEnd())
  }

  @Test("What a host wrote before it closed its end is read, also while input waits")
  func restAfterEnd() throws {
    let station = try Station(.pipes, limits: Self.limits(maxInFlight: 1))
    defer { station.stop() }
    station.send(Self.request(0, "hold"))
    #expect(station.until { station.framesRead == 1 })
    station.send(Self.request(1) + Self.request(2))
    close(station.hostOutput)
    usleep(20_000)
    station.answerHeld()
    #expect(station.readLines(3).count == 3)
    #expect(station.waitForEnd())
    #expect(station.connection.unanswered == 0)
    close(station.hostInput)
  }

  @Test("A host that closed its end without reading is noticed while input waits")
  func endWhileFull() throws {
    let station = try Station(.pipes, limits: Self.limits(maxLine: 1000))
    defer { station.stop() }
    // More than the pipe and one write hold, so that replies stay.
    let sender = Sender(station, (0..<100).map { Self.request($0, bytes: 100_000) })
    sender.start()
    #expect(station.until { station.connection.isFull })
    #expect(sender.wait())
    close(station.hostOutput)
    #expect(station.waitForEnd())
    close(station.hostInput)
  }

  @Test("A broken output ends the connection", arguments: [Station.Kind.pipes, .socket])
  func brokenOutput(_ kind: Station.Kind) throws {
    signal(SIGPIPE, SIG_IGN)
    let station = try Station(kind, limits: Self.limits())
    defer { station.stop() }
    station.send(Self.request(1, "hold"))
    #expect(station.until { station.framesRead == 1 })
    close(station.hostInput)
    station.answerHeld()
    #expect(station.waitForEnd())
    if kind == .pipes { close(station.hostOutput) }
  }

  @Test("The id of an unanswered request is refused, and the first caller is answered")
  func duplicateID() throws {
    let station = try Station(.pipes, limits: Self.limits())
    defer { station.stop() }
    station.send(Self.request(1, "hold") + Self.request(1))
    let refused = station.readLines(1)
    #expect(refused.first?.contains(#""id":null"#) == true)
    #expect(refused.first?.contains("E_DUPLICATE_ID") == true)
    station.answerHeld()
    #expect(station.readLines(1).first?.contains(#""result":true"#) == true)
    station.closeHost()
    #expect(station.waitForEnd())
  }
}
