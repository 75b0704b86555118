import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel
import Testing

@testable import SidecarServer

@Suite("Params by name")
struct ParamsTests {
  static func object(_ name: String, _ value: String) throws -> JSON {
    try JSON(checking: Array("{\"\(name)\":\(value)}".utf8))
  }

  static func refusal(_ read: () throws -> Void) -> RPCError? {
    do { try read() } catch { return error as? RPCError }
    return nil
  }

  @Test("A member that the document lists for a method is not refused", arguments: Method.allCases)
  func known(_ method: Method) throws {
    for name in Members.params(of: method).served {
      let params = try Params(try Self.object(name, "1"), of: method)
      #expect(params.optional(name)?.integer == 1)
    }
  }

  @Test("Any other member is refused, with its path and what was meant", arguments: Method.allCases)
  func unknown(_ method: Method) throws {
    let served = Members.params(of: method).served
    for name in Set(Method.allCases.flatMap { Members.params(of: $0).served }).subtracting(served) {
      let refusal = try #require(
        Self.refusal { _ = try Params(try Self.object(name, "1"), of: method) }, "\(name)")
      #expect(refusal.kind == "E_INVALID" && refusal.path == name)
    }
    guard let known = served.first(where: { $0.count > 3 }) else { return }
    let misspelled = String(known.dropLast()) + "_"
    let refusal = try #require(
      Self.refusal { _ = try Params(try Self.object(misspelled, "1"), of: method) })
    #expect(refusal.path == misspelled && refusal.message.hasSuffix("did you mean \(known)?"))
  }

  @Test("A long or strange name is not echoed as a whole")
  func strangeName() throws {
    let long = String(repeating: "x", count: 100_000)
    let refusal = try #require(Self.refusal { _ = try Params(try Self.object(long, "1"), of: .ping) })
    #expect(refusal.message.utf8.count < 300 && (refusal.path?.utf8.count ?? .max) < 300)
    let spaced = try #require(Self.refusal { _ = try Params(try Self.object("a b", "1"), of: .ping) })
    #expect(spaced.path == #"["a b"]"#)
  }

  @Test(
    "A wrong type is refused with the place, and the message begins with it",
    arguments: [
      ("bool", "wifiOnly", "1", "wifiOnly"), ("bool", "wifiOnly", "null", "wifiOnly"),
      ("integer", "window", "0", "window"), ("integer", "window", "1025", "window"),
      ("integer", "window", "1.5", "window"), ("integer", "window", "\"1\"", "window"),
      ("string", "cursor", "1", "cursor"), ("string", "cursor", "null", "cursor"),
      ("strings", "eventIds", "\"a\"", "eventIds"), ("strings", "eventIds", "[\"a\",1]", "eventIds[1]"),
      ("keys", "keys", "\"a\"", "keys"), ("keys", "keys", "null", "keys"),
      ("keys", "keys", "[\"a\",\"\"]", "keys[1]"), ("keys", "keys", "[\"a\",2]", "keys[1]"),
      ("id", "id", "\"\"", "id"), ("id", "id", "7", "id"), ("key", "key", "[]", "key"),
      ("choice", "state", "\"Queued\"", "state"), ("choice", "state", "1", "state"),
    ])
  func wrongType(_ reader: String, _ name: String, _ value: String, _ path: String) throws {
    let method = try #require(
      Method.allCases.first { Members.params(of: $0).served.contains(name) })
    let params = try Params(try Self.object(name, value), of: method)
    let refusal = try #require(
      Self.refusal {
        switch reader {
        case "bool": _ = try params.bool(name)
        case "integer": _ = try params.integer(name, in: 1...1024)
        case "string": _ = try params.string(name)
        case "strings": _ = try params.strings(name)
        case "keys": _ = try params.keys(name)
        case "id": _ = try params.entryID(name)
        case "key": _ = try params.entryKey(name)
        default: let _: Row.State? = try params.choice(name)
        }
      }, "\(name): \(value)")
    #expect(refusal.kind == "E_INVALID" && refusal.path == path)
    #expect(refusal.message.hasPrefix("\(path): "))
  }

  @Test("Absent members are absent, and params may be left out")
  func absent() throws {
    let params = try Params(nil, of: .getRequests)
    #expect(try params.string("cursor") == nil)
    #expect(try params.keys("keys") == nil)
    #expect(try params.integer("limit", in: 1...2) == nil)
    #expect(Self.refusal { _ = try params.required("id") }?.path == "id")
  }

  @Test("B245: an empty list of keys is not the whole queue")
  func emptyKeys() throws {
    #expect(try Params(try Self.object("keys", "[]"), of: .pause).keys() == [])
  }
}
