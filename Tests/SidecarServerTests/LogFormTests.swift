import JSONText
import QueueModel
import Testing

@testable import SidecarServer

@Suite struct LogFormTests {
  private static let wall: Int64 = 1_767_323_045_678

  private func text(_ line: LogLine) -> String {
    String(decoding: LogForm.text.bytes(of: line, at: LogFormTests.wall), as: UTF8.self)
  }

  @Test("A line of text is date, level, message and fields")
  func text() {
    let line = LogLine(.warn, "attempt failed", [.init("id", "a-7"), .init("attempt", 2)])
    #expect(text(line) == "2026-01-02T03:04:05.678Z warn attempt failed id=a-7 attempt=2\n")
  }

  @Test(
    "Nothing in a value can end the line, look like another field, or lead a terminal astray",
    arguments: [
      ("a\nb", #"v=a\u000ab"#), ("a\u{1B}[2K", #"v=a\u001b[2K"#), ("\u{9B}1A", #"v=\u009b1A"#),
      ("a\u{202E}b", #"v=a\u202eb"#), ("\u{2028}", #"v=\u2028"#), ("\u{7F}", #"v=\u007f"#),
      ("a b", #"v="a b""#), ("a=b", #"v="a=b""#), (#"a"b"#, #"v="a\"b""#), (#"\u000a"#, #"v="\\u000a""#),
      ("", #"v="""#), ("häß 🙂", #"v="häß 🙂""#), ("häß🙂", "v=häß🙂"),
    ])
  func escaped(value: String, shown: String) {
    let line = text(LogLine(.info, "m", [.init("v", value)]))
    #expect(line == "2026-01-02T03:04:05.678Z info m \(shown)\n")
  }

  @Test("A line of JSON is one object whose values come back as they were")
  func json() throws {
    let value = "a\n\"b\"\u{2028}\u{9B}\\"
    let data = try JSON(checking: Array(#"{"n":[1.50]}"#.utf8))
    let line = LogLine(.error, "m", [.init("v", value), .init("n", 7), .init("data", data)])
    let bytes = LogForm.json.bytes(of: line, at: LogFormTests.wall)
    #expect(bytes.filter { $0 == 0x0A }.count == 1)
    let read = try JSON(checking: Array(bytes.dropLast()))
    #expect(read["at"]?.string == "2026-01-02T03:04:05.678Z")
    #expect(read["level"]?.string == "error")
    #expect(read["message"]?.string == "m")
    #expect(read["v"]?.string == value)
    #expect(read["n"]?.integer == 7)
    #expect(read["data"]?["n"]?.description == "[1.50]")
  }

  @Test(
    "Dates are those of the calendar",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
      // A damaged row can hold any number.
      (.min, "-292275055-05-16T16:47:04.192Z"), (.max, "292278994-08-17T07:12:55.807Z"),
    ])
  func dates(wall: Int64, text: String) {
    #expect(Timestamp.text(wall) == text)
  }
}
