import Testing

@testable import QueueModel

@Suite("Parts: what is refused and what is read")
struct PartRequestTests {
  typealias Case = DescriptorRefusalTests.Case

  /// The file /a in these ranges.
  private static func cut(_ ranges: (start: String, end: String)...) -> String {
    let parts = ranges.map { #"{"url":"http://h/","range":{"start":\#($0.start),"end":\#($0.end)}}"# }
    return #""file":"/a","parts":[\#(parts.joined(separator: ","))]"#
  }

  static let cases: [Case] = [
    Case(
      rule: "B37", text: #""parts":[{"url":"http://h/","range":{"start":0,"end":1}}]"#,
      path: "request.parts", says: "goes with file"),
    Case(
      rule: "B37", text: #""data":1,"parts":[{"url":"http://h/","range":{"start":0,"end":1}}]"#,
      path: "request.parts", says: "goes with file"),
    Case(
      rule: "B31", text: #""data":1,"file":"/a","parts":[]"#,
      path: "request", says: "data and file"),
    Case(
      rule: "B34",
      text: #""method":"GET","file":"/a","parts":[{"url":"http://h/","range":{"start":0,"end":1}}]"#,
      path: "request.file", says: "GET"),
    Case(
      rule: "B48", text: #""file":"/a","parts":[]"#,
      path: "request.parts", says: "at least one"),
    Case(
      rule: "B48", text: #""file":"/a","parts":{}"#,
      path: "request.parts", says: "array"),
    Case(
      rule: "B50", text: #""file":"/a","parts":[1]"#,
      path: "request.parts[0]", says: "object"),
    Case(
      rule: "B50", text: cut(("1", "2")),
      path: "request.parts[0].range.start", says: "must be 0"),
    Case(
      rule: "B50, A-FILE-09",
      text: cut(("0", "2"), ("3", "4")),
      path: "request.parts[1].range.start", says: "must be 2"),
    Case(
      rule: "B50",
      text: cut(("0", "2"), ("1", "4")),
      path: "request.parts[1].range.start", says: "must be 2"),
    Case(
      rule: "B50",
      text: cut(("2", "4"), ("0", "2")),
      path: "request.parts[0].range.start", says: "must be 0"),
    Case(
      rule: "B50",
      text: cut(("0", "2"), ("2", "2")),
      path: "request.parts[1].range.end", says: "greater than start"),
    Case(
      rule: "B50, D9",
      text: cut(("0", "0"), ("0", "2")),
      path: "request.parts[0].range.end", says: "greater than start"),
    Case(
      rule: "B50", text: cut(("0", "-1")),
      path: "request.parts[0].range.end"),
    Case(
      rule: "B50", text: cut(("0.5", "1")),
      path: "request.parts[0].range.start"),
    Case(
      rule: "B50", text: #""file":"/a","parts":[{"url":"","range":{"start":0,"end":1}}]"#,
      path: "request.parts[0].url", says: "non-empty"),
    Case(
      rule: "B38", text: #""file":"/a","parts":[{"range":{"start":0,"end":1}}]"#,
      path: "request.parts[0].url", says: "required"),
    Case(
      rule: "B50",
      text: #""file":"/a","parts":[{"url":"http://h/","headers":[],"range":{"start":0,"end":1}}]"#,
      path: "request.parts[0].headers", says: "object"),
    Case(
      rule: "D32",
      text: #""file":"/a","parts":[{"url":"http://h/","headers":{"Host":"x"},"range":{"start":0,"end":1}}]"#,
      path: "request.parts[0].headers.Host"),
    Case(
      rule: "B43",
      text: #""file":"/a","parts":[{"url":"http://h/","header":{},"range":{"start":0,"end":1}}]"#,
      path: "request.parts[0].header", says: "headers?"),
    Case(
      rule: "B43", text: #""file":"/a","parts":[{"url":"http://h/","range":{"start":0,"stop":1}}]"#,
      path: "request.parts[0].range.stop"),
    Case(
      rule: "B43", text: #""file":"/a","parts":[{"url":"http://h/"}]"#,
      path: "request.parts[0].range", says: "required"),
  ]

  @Test("Refused parts name the member", arguments: cases)
  func refused(_ refused: Case) throws {
    let text = #"{"url":"http://h/x",\#(refused.text)}"#
    let error = try #require(try refusal { _ = try Descriptor(reading: json(text)) })
    #expect(error.path == refused.path)
    #expect(error.message.contains(refused.says))
  }

  @Test("B38, B48, B127: parts need no url of their own descriptor, tile the file and move it")
  func read() throws {
    let read = try Descriptor.parts([4, 3])
    #expect(read.url == nil)
    #expect(read.staging == .move)
    guard case .parts(let path, let parts) = read.body else { throw InvalidInput(path: "", message: "") }
    #expect(path.bytes == Array("/a".utf8))
    #expect(parts.map(\.range) == [0..<4, 4..<7])
    #expect(parts.map(\.url.text) == ["http://h.test/0", "http://h.test/1"])
    #expect(try Descriptor.parts([1], #","staging":"copy""#).staging == .copy)
    #expect(try Descriptor.parts([1], #","url":"http://h/""#).url?.text == "http://h/")
  }

  @Test("D9, A-BODY-04: the one empty part of an empty file is taken")
  func empty() throws {
    guard case .parts(_, let parts) = try Descriptor.parts([0]).body else { return }
    #expect(parts.map(\.range) == [0..<0])
    #expect(parts.misfit(size: 0) == nil)
    #expect(parts.misfit(size: 1)?.path == "request.parts[0].range.end")
  }

  @Test(
    "A-FILE-09, B259: parts that do not fit a file name the first that leaves it, or the last",
    arguments: [(7, nil), (6, 1), (5, 1), (4, 1), (3, 0), (0, 0), (8, 1)] as [(Int64, Int?)])
  func misfit(_ size: Int64, _ index: Int?) throws {
    guard case .parts(_, let parts) = try Descriptor.parts([4, 3]).body else { return }
    #expect(parts.misfit(size: size)?.path == index.map { "request.parts[\($0)].range.end" })
  }

  @Test("D5: what is stored of it comes back without the requests, which lie elsewhere")
  func stored() throws {
    let read = try Descriptor.parts([4, 3], #","headers":{"A":"b"}"#)
    let stored = try Descriptor(stored: json(String(decoding: read.storedText, as: UTF8.self)), kind: .parts)
    #expect(stored.storedText == read.storedText)
    #expect(stored.staging == .move)
    guard case .parts(let path, let parts) = stored.body else { throw InvalidInput(path: "", message: "") }
    #expect(path.bytes == Array("/a".utf8) && parts.isEmpty)
  }

  @Test("B50: a plan has at most 100,000 parts")
  func tooMany() throws {
    let sizes = [Int64](repeating: 1, count: 100_001)
    #expect(try refusedPath { _ = try Descriptor.parts(sizes) } == "request.parts[100000]")
  }
}
