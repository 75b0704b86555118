import Foundation
import Testing

@testable import OuttrayProtocol

@Suite("The generated Swift says what the document says")
struct GeneratedNamesTests {
  let document: ContractDocument

  init() throws { document = try ContractDocument() }

  @Test("rpc.discover answers with the document itself, on one line")
  func text() throws {
    let served = try ContractDocument.object(Data(OpenRPCDocument.text.utf8))
    #expect(served == document.root)
    #expect(!OpenRPCDocument.text.utf8.contains(0x0A))
    #expect(OpenRPCDocument.text.utf8.count < document.bytes.count)
  }

  @Test("The text needs no escaping on the wire")
  func wire() {
    let escaped = OpenRPCDocument.text.unicodeScalars.filter {
      $0.value < 0x20 || $0.value == 0x7F || $0.value == 0x2028 || $0.value == 0x2029
    }
    #expect(escaped.isEmpty)
  }

  @Test("Methods are those that are served, in order; none is for later")
  func methods() throws {
    let names = document.names(try document.value("methods"))
    #expect(Method.allCases.map(\.rawValue) == names.served)
    #expect(names.later == [])
    #expect(Method(rawValue: "rpc.discover") == .discover)
  }

  @Test("Events are those of x-events, in order")
  func events() throws {
    let events: [NSDictionary] = try document.value("x-events")
    #expect(EventName.allCases.map(\.rawValue) == document.names(events).served)
  }

  @Test("Error codes carry the number and the message of the document")
  func errors() throws {
    let errors: NSDictionary = try document.value("components.errors")
    #expect(errors.count == ErrorCode.allCases.count)
    for code in ErrorCode.allCases {
      #expect(try document.value("components.errors.\(code.rawValue).code") == code.number)
      #expect(try document.value("components.errors.\(code.rawValue).message") == code.summary)
    }
  }

  @Test("The members of params are those of the document", arguments: Method.allCases)
  func params(_ method: Method) throws {
    let methods: [NSDictionary] = try document.value("methods")
    let found = try #require(methods.first { $0["name"] as? String == method.rawValue })
    let names = document.names(try #require(found["params"] as? [NSDictionary]))
    #expect(Members.params(of: method) == Members(served: names.served, later: names.later))
  }

  @Test(
    "The members of an object that a host sends are those of the document",
    arguments: [
      ("Descriptor", Members.descriptor), ("FormField", .formField), ("Part", .part), ("Range", .range),
      ("AcceptRule", .acceptRule), ("Retry", .retry), ("Backoff", .backoff), ("TerminalHttp", .terminalHttp),
      ("TransientRule", .transientRule), ("Timeouts", .timeouts), ("TimeoutLayer", .timeoutLayer),
      ("Concurrency", .concurrency), ("TLS", .tls), ("TLSHost", .tlsHost), ("Peer", .peer),
    ])
  func objects(_ schema: String, _ members: Members) throws {
    let properties: NSDictionary = try document.value("components.schemas.\(schema).properties")
    let names = properties.allKeys.compactMap { $0 as? String }
    let later = names.filter { (properties[$0] as? NSDictionary)?["x-since"] as? String == "next" }
    #expect(Set(members.later) == Set(later))
    #expect(Set(members.served) == Set(names).subtracting(later))
    #expect(members.served.count + members.later.count == names.count)
  }

  @Test(
    "Limits are those of x-limits",
    arguments: [
      ("maxLine", Limits.maxLine), ("maxVars", Limits.maxVars), ("maxInFlight", Limits.maxInFlight),
      ("maxWindow", Limits.maxWindow), ("defaultWindow", Limits.defaultWindow),
      ("windowBytes", Limits.windowBytes), ("responseBody", Limits.responseBody),
      ("attemptBody", Limits.attemptBody), ("requestIdBytes", Limits.requestIdBytes),
      ("entryIdBytes", Limits.entryIdBytes), ("entryKeyBytes", Limits.entryKeyBytes),
      ("maxDepth", Limits.maxDepth), ("maxInteger", Limits.maxInteger), ("pageRows", Limits.pageRows),
      ("pageBytes", Limits.pageBytes), ("mergedIds", Limits.mergedIds),
      ("progressIntervalMs", Limits.progressIntervalMs), ("maxRanges", Limits.maxRanges),
      ("diagnostics", Limits.diagnostics), ("lifetimeMs", Limits.lifetimeMs), ("chunkMin", Limits.chunkMin),
      ("chunkMax", Limits.chunkMax),
    ])
  func limits(_ name: String, _ value: Int) throws {
    #expect(try document.value("x-limits.\(name).value") == value)
  }
}
