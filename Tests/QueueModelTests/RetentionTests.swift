import JSONText
import QueueModel
import Testing

@Suite struct RetentionTests {
  private func completed(_ members: String) throws -> Entry {
    var entry = try Entry.sample(.sample(members))
    entry.state = .settled(.completed, eventID: "event")
    return entry
  }

  @Test("D42: a completed entry that is kept lets go of its body, once")
  func keeping() throws {
    let entry = try completed(#""data":{"a":1}"#)
    let decision = entry.keeping(storedData: try json(#"{"a":1}"#))
    #expect(decision.releasesBody && decision.entry.body.place == .none && decision.outcome == nil)
    #expect(decision.entry.kept != nil && decision.entry.state == entry.state)
    #expect(!decision.entry.keeping(storedData: nil).releasesBody)
    #expect(try Entry.sample().keeping(storedData: nil).entry.kept == nil)
  }

  @Test(
    "D42, D5: enqueueing what is kept does nothing; another body takes its place",
    arguments: [
      (#""data":{"a":1,"b":2}"#, #""data":{ "b":2, "a":1 }"#, true),
      (#""data":{"a":1,"b":2}"#, #""data":{"a":1,"b":3}"#, false),
      (#""file":"/a""#, #""file":"/a""#, true), (#""file":"/a""#, #""file":"/b""#, false), ("", "", true),
      ("", #""data":1"#, false),
    ])
  func again(_ stored: String, _ incoming: String, _ isSame: Bool) throws {
    let request = try Descriptor.sample(stored)
    var data: JSON?
    if case .data(let json) = request.body { data = json }
    let kept = try completed(stored).keeping(storedData: data).entry
    let enqueue = try Enqueue.sample(.sample(incoming))
    let rule = SameID.rule(for: enqueue, existing: kept, storedData: nil, sourceStamps: nil)
    #expect(rule == (isSame ? .keep : .replace))
    guard !isSame else { return }
    let next = kept.replaced(
      by: enqueue, body: .sample(), gates: Gates(), lifetimeMs: lifetimeMs, now: .start,
      randomness: CountingBits())
    #expect(next.entry.kept == nil)
  }
}
