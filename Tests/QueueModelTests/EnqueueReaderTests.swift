import JSONText
import QueueModel
import Testing

@Suite struct EnqueueReaderTests {
  private static let good = #"{"id":"a","key":"k","request":{"url":"http://h/"}}"#

  private func read(_ entries: String) throws -> [Enqueue] {
    try Enqueue.all(reading: json(entries), path: "entries") { EntryID("made") }
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    var entry: String
    var path: String
    var testDescription: String { path }
  }

  private static let bad: [Bad] = [
    Bad(entry: "1", path: "entries[1]"),
    Bad(entry: "null", path: "entries[1]"),
    Bad(entry: #"{"request":{"url":"http://h/"}}"#, path: "entries[1].key"),
    Bad(entry: #"{"key":"","request":{"url":"http://h/"}}"#, path: "entries[1].key"),
    Bad(entry: #"{"key":"k"}"#, path: "entries[1].request"),
    Bad(entry: #"{"key":"k","request":{}}"#, path: "entries[1].request.url"),
    Bad(entry: #"{"key":"k","request":{"url":"ftp://h/"}}"#, path: "entries[1].request.url"),
    Bad(
      entry: #"{"key":"k","request":{"url":"http://h/","headers":{"Host":"x"}}}"#,
      path: "entries[1].request.headers.Host"),
    Bad(entry: #"{"key":"k","vars":1,"request":{"url":"http://h/"}}"#, path: "entries[1].vars"),
    Bad(entry: #"{"id":7,"key":"k","request":{"url":"http://h/"}}"#, path: "entries[1].id"),
    Bad(entry: #"{"id":"a","key":"k","request":{"url":"http://h/"}}"#, path: "entries[1].id"),
    Bad(entry: #"{"key":"k","group":"","request":{"url":"http://h/"}}"#, path: "entries[1].group"),
    Bad(entry: #"{"key":"k","group":7,"request":{"url":"http://h/"}}"#, path: "entries[1].group"),
    Bad(entry: #"{"key":"k","weight":0,"request":{"url":"http://h/"}}"#, path: "entries[1].weight"),
    Bad(entry: #"{"key":"k","weight":-1,"request":{"url":"http://h/"}}"#, path: "entries[1].weight"),
    Bad(entry: #"{"key":"k","weight":1e10,"request":{"url":"http://h/"}}"#, path: "entries[1].weight"),
    Bad(entry: #"{"key":"k","weight":"1","request":{"url":"http://h/"}}"#, path: "entries[1].weight"),
    Bad(entry: #"{"key":"k","deadlineMs":0,"request":{"url":"http://h/"}}"#, path: "entries[1].deadlineMs"),
    Bad(entry: #"{"key":"k","deadlineMs":1.5,"request":{"url":"http://h/"}}"#, path: "entries[1].deadlineMs"),
    Bad(
      entry: #"{"key":"k","groupDeadlineMs":5,"request":{"url":"http://h/"}}"#,
      path: "entries[1].groupDeadlineMs"),
    Bad(
      entry: #"{"key":"k","group":"g","groupDeadlineMs":null,"request":{"url":"http://h/"}}"#,
      path: "entries[1].groupDeadlineMs"),
    Bad(entry: #"{"keys":"k","request":{"url":"http://h/"}}"#, path: "entries[1].keys"),
    Bad(entry: #"{"key":"k","key":"k","request":{"url":"http://h/"}}"#, path: "entries[1].key"),
  ]

  @Test("D50, D48, D49: what is wrong with one entry is refused with its place", arguments: bad)
  func refusals(_ bad: Bad) {
    let refusal = #expect(throws: InvalidInput.self) { try read("[\(Self.good),\(bad.entry)]") }
    #expect(refusal?.path == bad.path)
  }

  @Test("D50: 1 to 1000 entries, in an array", arguments: ["1", "null", "{}", "[]"])
  func counts(_ entries: String) {
    let refusal = #expect(throws: InvalidInput.self) { try read(entries) }
    #expect(refusal?.path == "entries")
  }

  @Test("D50: the thousandth is taken, one more is not")
  func limit() throws {
    func entries(_ count: Int) -> String {
      let all = (0..<count).map { #"{"id":"\#($0)","key":"k","request":{"url":"http://h/"}}"# }
      return "[\(all.joined(separator: ","))]"
    }
    #expect(try read(entries(1000)).count == 1000)
    #expect(throws: InvalidInput.self) { try read(entries(1001)) }
  }

  @Test("One without an id is named")
  func made() throws {
    let enqueues = try read(#"[\#(Self.good),{"key":"k","request":{"url":"http://h/"}}]"#)
    #expect(enqueues.map(\.id.text) == ["a", "made"])
  }
}
