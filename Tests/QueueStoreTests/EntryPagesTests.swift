import QueueModel
import Testing

@testable import QueueStore

@Suite("Numbers of entries in both directions")
struct EntryPagesTests {
  private let directory: TemporaryDirectory
  private let store: QueueStore

  /// 1 to 9: the multiples of 3 run, 8 has settled with an error; even ones have the key `even`.
  init() throws {
    directory = try TemporaryDirectory()
    store = try openStore(directory.queue)
    try store.write(durable: false) { writer in
      for number in Int64(1)...9 {
        let attempt = Entry.Attempt(ordinal: 1, requestID: "r\(number)", headerRevision: 0)
        let state: Entry.State =
          number % 3 == 0
          ? .running(attempt)
          : number == 8 ? .settled(.error, eventID: "x") : .queued(Entry.Wait(due: 0))
        let made = try entry(writer.takeNumber(), key: number % 2 == 0 ? "even" : "odd", state: state)
        try writer.insert(made)
      }
    }
  }

  private func numbers(
    _ from: Int64, _ isUpwards: Bool, _ states: Set<EntryPages.StoredState>? = nil, key: String? = nil,
    limit: Int = 100
  ) throws -> [Int64] {
    try EntryPages(store.reader).numbers(
      from: from, isUpwards: isUpwards, states: states ?? Set(EntryPages.StoredState.allCases),
      key: key.map { EntryKey($0) }, limit: limit)
  }

  @Test("from a number on, itself included, as many as are wanted")
  func directions() throws {
    #expect(try numbers(0, true) == Array(1...9))
    #expect(try numbers(.max, false) == Array((1...9).reversed()))
    #expect(try numbers(4, true, limit: 2) == [4, 5])
    #expect(try numbers(4, false, limit: 2) == [4, 3])
    #expect(try numbers(10, true).isEmpty)
    #expect(try numbers(0, false).isEmpty)
    #expect(try numbers(1, true, limit: 0).isEmpty)
  }

  @Test("of some states, of a key")
  func filters() throws {
    #expect(try numbers(0, true, [.running]) == [3, 6, 9])
    #expect(try numbers(5, false, [.running, .error]) == [3])
    #expect(try numbers(0, true, [.queued]) == [1, 2, 4, 5, 7])
    #expect(try numbers(0, true, []).isEmpty)
    #expect(try numbers(0, true, key: "even") == [2, 4, 6, 8])
    #expect(try numbers(.max, false, [.running], key: "even") == [6])
    #expect(try numbers(0, true, key: "nobody's").isEmpty)
  }
}
