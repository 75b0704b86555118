import JSONText
import Testing

@Suite struct UnfitTests {
  @Test(
    "A-RPC-10: content that cannot be kept is told by reason and path, and the rest stays readable",
    arguments: [
      (#"{"id":7,"v":"\ud800"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":"\udc00"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":["a",{"b":"x\uDFFFy"}]}"#, .loneSurrogate, "v[1].b", 24),
      (#"{"id":7,"v":"\ud800\ud800\udc00"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":"\ud800\n"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":"\ud800x"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":"\udc00\ud800"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":"\udc00\udc01"}"#, .loneSurrogate, "v", 13),
      (#"{"id":7,"v":{"\ud800":1}}"#, .loneSurrogate, "v[\"\u{FFFD}\u{FFFD}\u{FFFD}\"]", 14),
      (#"{"id":7,"v":1e400}"#, .numberOutOfRange, "v", 12),
      (#"{"id":7,"v":[[],[0,-1E+309]]}"#, .numberOutOfRange, "v[1][1]", 19),
      (#"{"id":7,"v":{"a b":[{"c.d":1e999}]}}"#, .numberOutOfRange, #"v["a b"][0]["c.d"]"#, 27),
      (#"{"id":7,"v":{"":1e999}}"#, .numberOutOfRange, #"v[""]"#, 16),
      (
        #"{"id":7,"v":{"\u0061\n":{"Content-Type":1e999}}}"#, .numberOutOfRange, #"v["a\n"].Content-Type"#, 40
      ),
      (#"{"id":7,"v":[1e999,"\ud800"]}"#, .numberOutOfRange, "v[0]", 13),
    ] as [(String, Unfit.Reason, String, Int)])
  func unfit(_ text: String, _ reason: Unfit.Reason, _ path: String, _ offset: Int) throws {
    let scanned = try JSON.scan(Array(text.utf8))
    #expect(scanned.unfit?.reason == reason)
    #expect(scanned.unfit?.offset == offset)
    #expect(scanned.unfit?.path == path)
    #expect(scanned.value["id"]?.integer == 7)
    let defect = #expect(throws: JSONDefect.self) { try json(text) }
    #expect(defect == JSONDefect(offset: offset, reason: reason.message, path: path))
  }

  @Test("Unfit content that is the outermost value has an empty path", arguments: ["1e400", #""\ud800""#])
  func outermost(_ text: String) throws {
    #expect(try JSON.scan(Array(text.utf8)).unfit?.path == "")
  }

  @Test(
    "A number fits as long as it rounds to a finite double",
    arguments: [
      ("1.7976931348623157e308", true), ("1.7976931348623158e308", true), ("1.7976931348623159e308", false),
      ("-1.7976931348623159e308", false), ("1e308", true), ("1e309", false), ("9e308", false),
      ("0.1e309", true),
      ("0.0001e312", true), ("0.01e311", false), ("0.17976931348623157e309", true), ("12.5e307", true),
      ("123.5e306", true), ("10e307", true), ("100e307", false),
      ("1e-99999999999999999999", true),
      ("1e99999999999999999999", false), ("0e99999999999999999999", true), ("0.000e400", true),
      ("-0.0E400", true),
      ("1" + String(repeating: "0", count: 308), true), ("1" + String(repeating: "0", count: 309), false),
      ("1" + String(repeating: "0", count: 400) + "e-100", true),
      ("0." + String(repeating: "0", count: 400) + "1e600", true),
      ("0." + String(repeating: "0", count: 400) + "1e710", false),
      ("0." + String(repeating: "9", count: 5000), true), (String(repeating: "9", count: 309), false),
    ])
  func numberRange(_ text: String, _ fits: Bool) throws {
    let scanned = try JSON.scan(Array(text.utf8))
    #expect((scanned.unfit == nil) == fits)
    #expect((scanned.value.double != nil) == fits)
  }

  @Test(
    "Arrays and objects nest 256 deep and no deeper",
    arguments: [(255, true), (256, true), (257, false), (600, false), (1000, false)])
  func depth(_ depth: Int, _ fits: Bool) throws {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      let text = String(repeating: open, count: depth) + "0" + String(repeating: close, count: depth)
      let unfit = try JSON.scan(Array(text.utf8)).unfit
      #expect(unfit?.reason == (fits ? nil : .tooDeep))
      #expect(unfit?.offset == (fits ? nil : 256 * open.utf8.count))
    }
    let wide = "[" + String(repeating: "[],{},", count: depth) + "0]"
    #expect(try JSON.scan(Array(wide.utf8)).unfit == nil)
  }

  @Test("A long path is cut")
  func longPath() throws {
    let text = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    let path = try JSON.scan(Array(text.utf8)).unfit?.path
    #expect(path == String(repeating: "[0]", count: 64) + "\u{2026}")
    let name = String(repeating: "n", count: 100)
    let long = try JSON.scan(Array("{\"\(name)\":1e999}".utf8)).unfit?.path
    #expect(long == String(repeating: "n", count: 64) + "\u{2026}")
  }

  @Test("Ten million brackets cost no stack, closed, unclosed or wrongly closed")
  func hugeDepth() throws {
    let count = 10_000_000
    let open = [UInt8](repeating: 0x5B, count: count)
    let scanned = try JSON.scan(open + [UInt8](repeating: 0x5D, count: count))
    #expect(scanned.unfit?.reason == .tooDeep)
    #expect(scanned.value.elements().first { _ in true }?.count == 2 * count - 2)
    #expect(throws: JSONDefect.self) { try JSON.scan(open) }
    #expect(throws: JSONDefect.self) { try JSON.scan(open + [0x7D]) }
  }

  @Test("Brackets of both kinds close in the order that they were opened, across the words of the stack")
  func mixedBrackets() throws {
    for depth in [63, 64, 65, 127, 128, 129, 200] {
      var open = ""
      var close = ""
      for level in 0..<depth {
        let isObject = level % 3 == 0 || level % 7 == 1
        open += isObject ? #"{"k":"# : "["
        close = (isObject ? "}" : "]") + close
      }
      #expect(throws: Never.self) { try json(open + "0" + close) }
      for place in 0..<depth {
        var wrong = Array(close.utf8)
        wrong[place] = wrong[place] == 0x5D ? 0x7D : 0x5D
        #expect(throws: JSONDefect.self) { try JSON.scan(Array((open + "0").utf8) + wrong) }
      }
    }
  }
}
