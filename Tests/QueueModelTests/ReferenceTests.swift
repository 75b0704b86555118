import JSONText
import Testing

@testable import QueueModel

/// Bodies that stay the caller's own files (D28).
@Suite("References")
struct ReferenceTests {
  private func sample() throws -> Entry {
    var entry = try Entry.sample(.sample(#""file":"/a","staging":"reference""#))
    entry.body.place = .reference
    entry.body.sources = [SourceStamp(size: 7, modifiedAt: 1, inode: 2)]
    return entry
  }

  @Test("D28: reference is taken with a file, a form and without either, and comes back as it was stored")
  func descriptor() throws {
    for body in [#""file":"/a","#, #""form":[{"name":"a","contentType":"t","path":"/a"}],"#, #""data":1,"#] {
      let request = try Descriptor.sample(body + #""staging":"reference""#)
      #expect(request.staging == .reference)
      let stored = try Descriptor(stored: JSON(checking: request.storedText), kind: request.body.kind)
      #expect(stored.staging == .reference)
    }
  }

  @Test(
    "D28: a changed file settles `file`, whatever the answer, which is attached",
    arguments: [nil, 200, 204, 302, 401, 404, 503])
  func changed(status: Int?) throws {
    var result = AttemptResult.failure(.bodyChanged)
    if let status {
      result = .answer(status)
      result.failure = TransferFailure(.bodyChanged, "changed")
    }
    let decision = try sample().running().finishing(result)
    guard case .error(.file, _, let response)? = decision.outcome?.settlement else {
      Issue.record("\(decision)")
      return
    }
    #expect(response?.status == status)
    #expect(!decision.releasesBody)
  }

  @Test("D28: a result of an attempt that was stopped counts only if its file had not changed")
  func late() throws {
    let running = try sample().running()
    let attempt = try #require(running.attemptInFlight)
    let stopped = running.stopped(now: .start).entry
    var result = AttemptResult.answer(200)
    result.failure = TransferFailure(.bodyChanged, "changed")
    let decision = stopped.finished(
      attempt, result, policy: RetryPolicy(), gates: Gates(), now: .start, randomness: ListedBits())
    #expect(decision == nil)
  }

  @Test("D5: another inode makes no other body; another size or time does")
  func identity() throws {
    let stamp = SourceStamp(size: 7, modifiedAt: 1, inode: 2)
    #expect(stamp.looksLike(SourceStamp(size: 7, modifiedAt: 1, inode: 3)))
    #expect(stamp.looksLike(SourceStamp(size: 7, modifiedAt: 1)))
    #expect(!stamp.looksLike(SourceStamp(size: 8, modifiedAt: 1, inode: 2)))
    #expect(!stamp.looksLike(SourceStamp(size: 7, modifiedAt: 2, inode: 2)))
    let rule = try SameID.rule(
      for: .sample(.sample(#""file":"/a""#)), existing: sample(), storedData: nil,
      sourceStamps: [SourceStamp(size: 7, modifiedAt: 1, inode: 3)])
    #expect(rule == .resume)
  }

  @Test("D28: the same body named anew is staged anew where the entry refers to it, and nowhere else")
  func refreshes() throws {
    let reference = try sample()
    let owned = try Entry.sample(.sample(#""file":"/a""#))
    for rule in [SameID.resume, .reopen] {
      #expect(rule.refreshesReference(of: reference))
      #expect(!rule.refreshesReference(of: owned))
    }
    for rule in [SameID.create, .replace, .redeliver(eventID: "e"), .refuseRunning] {
      #expect(!rule.refreshesReference(of: reference))
    }
    #expect(try !reference.ownsBody(of: .sample(#""file":"/a""#)))
  }

  @Test("D28: a copy in place of a reference ends the attempt that reads the caller's file, which may go now")
  func copied() throws {
    let running = try sample().running()
    let again = try Enqueue.sample(.sample(#""file":"/a""#))
    func resumed(_ body: StagedBody?) -> Decision {
      running.resumed(by: again, body: body, gates: Gates(), partsAtOnce: 3, lifetimeMs: 5, now: .start)
    }
    #expect(resumed(nil).effectNames == ["state"])
    var looked = running.body
    looked.sources = [SourceStamp(size: 7, modifiedAt: 1, inode: 9)]
    #expect(resumed(looked).effectNames == ["state"])
    #expect(resumed(looked).entry.body == looked)
    let copy = StagedBody.sample(.file)
    #expect(resumed(copy).effectNames == ["stop", "state"])
    #expect(resumed(copy).entry.body == copy)
    #expect(!resumed(copy).releasesBody)
  }

  @Test("B303: a record of a start names the 100 largest keys and counts the others")
  func bootKeys() throws {
    var keys: [EntryKey: Int64] = [:]
    for number in 1...103 { keys[EntryKey("k\(number)")] = Int64(number) }
    let record = BootRecord(at: 5, entries: [("queued", 7)], keys: keys, orphans: OrphanCount())
    let figures = try #require(record.diagnostic.figures)
    #expect(figures["keys"].map { Array($0.members()).count } == 100)
    #expect(figures["keys"]?["k3"] == nil)
    #expect(figures["keys"]?["k103"]?.integer == 103)
    #expect(figures["otherKeys"]?.integer == 3)
    #expect(figures["entries"]?["queued"]?.integer == 7)
    #expect(
      figures["orphans"]?.description
        == #"{"dirs":0,"files":0,"bytes":0,"removedFiles":0,"removedBytes":0}"#)
  }
}
