import Foundation
import JSONText
import QueueEngine
import QueueModel
import Testing

@testable import SidecarServer

@Suite("What a connection still has to read")
struct OutboxTests {
  var outbox = Outbox()

  /// A reply of `bytes` bytes that says `name`.
  static func reply(_ name: String, bytes: Int = 0) -> [UInt8] {
    Array("reply \(name)\(String(repeating: ".", count: bytes))\n".utf8)
  }

  /// Beyond this much the outbox merges.
  static let flood = reply("flood", bytes: Outbox.mergeBytes)

  /// Takes everything and tells it shortly: `reply a`, `state a 5`, `progress a 5`, `resync`.
  mutating func takeAll() -> [String] {
    var text: [UInt8] = []
    while !outbox.isEmpty { text += outbox.take(limit: 1 << 16) }
    return String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
      guard let frame = try? JSON(checking: Array(line.utf8)), let method = frame["method"]?.string else {
        return String(line.prefix { $0 != "." })
      }
      guard let params = frame["params"], let id = params["id"]?.string else { return method }
      return "\(method) \(id) \(params["bytesSent"]?.integer ?? -1)"
    }
  }

  @Test("Replies and events keep their order while the reader keeps up")
  mutating func order() throws {
    outbox.reply(Self.reply("1"), about: [try Events.id("a")])
    outbox.event(.state(try Events.row("a", sent: 1)))
    outbox.event(.progress(id: try Events.id("a"), bytesSent: 2, totalBytes: 9))
    outbox.reply(Self.reply("2"), about: [])
    outbox.event(.state(try Events.row("a", sent: 3)))
    #expect(takeAll() == ["reply 1", "state a 1", "progress a 2", "reply 2", "state a 3"])
    #expect(outbox.bytes == 0 && outbox.replyBytes == 0)
  }

  @Test("Beyond the limit the newest row of an id stays, where the newest stood")
  mutating func newestRow() throws {
    outbox.reply(Self.flood, about: [])
    outbox.event(.state(try Events.row("a", sent: 1)))
    outbox.event(.state(try Events.row("b", sent: 1)))
    outbox.event(.state(try Events.row("a", sent: 2)))
    #expect(takeAll() == ["reply flood", "state b 1", "state a 2"])
  }

  @Test("The reply to enqueue precedes every later event about the entry, also when an older one waited")
  mutating func replyPrecedes() throws {
    outbox.reply(Self.flood, about: [])
    outbox.event(.state(try Events.row("a", sent: 1)))
    outbox.event(.progress(id: try Events.id("a"), bytesSent: 2, totalBytes: 9))
    outbox.reply(Self.reply("a"), about: [try Events.id("a")])
    outbox.event(.progress(id: try Events.id("a"), bytesSent: 3, totalBytes: 9))
    outbox.event(.state(try Events.row("a", sent: 4)))
    #expect(takeAll() == ["reply flood", "reply a", "progress a 3", "state a 4"])
  }

  @Test("A row is never older than one in an earlier reply")
  mutating func rowsOfReplies() throws {
    outbox.reply(Self.flood, about: [])
    outbox.event(.state(try Events.row("a", sent: 1)))
    outbox.reply(Self.reply("page with a 2"), about: [])
    outbox.event(.state(try Events.row("a", sent: 3)))
    #expect(takeAll() == ["reply flood", "reply page with a 2", "state a 3"])
  }

  @Test("The last progress precedes the terminal state, and none follows it")
  mutating func lastProgress() throws {
    outbox.reply(Self.flood, about: [])
    outbox.event(.state(try Events.row("a", sent: 0)))
    outbox.event(.progress(id: try Events.id("a"), bytesSent: 4, totalBytes: 9))
    outbox.event(.progress(id: try Events.id("a"), bytesSent: 9, totalBytes: 9))
    outbox.event(.state(try Events.row("a", sent: 9, state: .completed)))
    #expect(takeAll() == ["reply flood", "progress a 9", "state a 9"])
  }

  @Test("Rows of at most 1,024 ids wait; one resync stands for more")
  mutating func resync() throws {
    outbox.reply(Self.flood, about: [])
    for number in 0..<1024 { outbox.event(.state(try Events.row("\(number)"))) }
    var copy = self
    #expect(copy.takeAll().count == 1025)
    for number in 1024..<3000 { outbox.event(.state(try Events.row("\(number)"))) }
    #expect(takeAll() == ["reply flood", "resync"])
    outbox.event(.state(try Events.row("x", sent: 1)))
    #expect(takeAll() == ["state x 1"])
  }

  @Test("Progress of at most 1,024 ids waits; more is dropped and counted")
  mutating func progressLimit() throws {
    outbox.reply(Self.flood, about: [])
    for number in 0..<1030 {
      outbox.event(.progress(id: try Events.id("\(number)"), bytesSent: 1, totalBytes: 2))
    }
    outbox.event(.progress(id: try Events.id("7"), bytesSent: 2, totalBytes: 2))
    let taken = takeAll()
    #expect(taken.count == 1025 && taken.last == "progress 7 2")
    #expect(outbox.dropped == 6)
  }

  @Test("Rows with large vars are bounded in bytes, and one of any size still comes")
  mutating func largeVars() throws {
    outbox.reply(Self.flood, about: [])
    outbox.event(.state(try Events.row("large", varsBytes: 6 << 20)))
    var copy = self
    #expect(copy.takeAll() == ["reply flood", "state large 0"])
    for number in 0..<64 {
      outbox.event(.state(try Events.row("\(number)", varsBytes: 1 << 20)))
      #expect(outbox.rowBytes <= Outbox.mergeRowBytes + (7 << 20))
    }
    #expect(takeAll() == ["reply flood", "resync"])
    #expect(outbox.rowBytes == 0)
  }

  @Test("An event as long as a reply does not settle the reply's bytes")
  mutating func replyBytes() throws {
    let event = Notifications.state(try Events.row("a"))
    outbox.event(.state(try Events.row("a")))
    outbox.reply(event, about: [])
    #expect(outbox.replyBytes == event.count)
    _ = outbox.take(limit: 1)
    #expect(outbox.replyBytes == event.count)
    _ = outbox.take(limit: 1)
    #expect(outbox.replyBytes == 0)
  }

  @Test("Changes of a few ids without end hold no more than their newest values")
  mutating func churn() throws {
    outbox.reply(Self.flood, about: [])
    for number in 0..<20_000 {
      outbox.event(.state(try Events.row("\(number % 3)", sent: Int64(number))))
      outbox.event(.progress(id: try Events.id("\(number % 3)"), bytesSent: Int64(number), totalBytes: 1))
    }
    #expect(outbox.places < 5 * Outbox.mergeLimit)
    #expect(
      takeAll()
        == [
          "reply flood", "state 0 19998", "progress 0 19998", "state 1 19999", "progress 1 19999",
          "state 2 19997", "progress 2 19997",
        ].sorted { order($0) < order($1) })
  }

  /// `state 2 19997` stands where the change 19997 stood.
  private func order(_ line: String) -> Int {
    let number = line.split(separator: " ").last.flatMap { Int($0) } ?? -1
    return 2 * number + (line.hasPrefix("progress") ? 1 : 0)
  }
}
