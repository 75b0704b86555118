import JSONText
import Testing

@Suite struct GrammarTests {
  @Test(
    "RFC 8259: what the grammar allows is read, and read as one value",
    arguments: [
      "null", "true", "false", "0", "-0", "7", "-12", "0.5", "-0.50", "1e5", "1E+5", "1e-5", "0e0",
      "10.25e-07",
      "123456789012345678901234567890", "1.7976931348623157e308", "-1.7976931348623157E+308", "1e-400",
      "0e999999999999999999999", "\"\"", "\"a\"", #""\"\\\/\b\f\n\r\t""#, #""\u0000\u001f\uABcd""#,
      #""\ud83d\ude00""#, #""\uDBFF\uDFFF""#, "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"",
      "\"\u{2028}\u{2029}\u{85}\"", "[]", "[ ]", "[[]]", "[1,2]", "[ 1 , [ ] , { } ]", "{}", "{ }",
      #"{"":0}"#,
      #"{"a":1,"a":2}"#, #"{ "a" : [ true , null ] , "b" : { "c" : "d" } }"#, "[\"]\",\"}\",\"\\\"\"]",
      " 1", "1 ", "\t\r\n {\"a\"\r\n:\t1}\n",
    ])
  func accepted(_ text: String) throws {
    let scanned = try JSON.scan(Array(text.utf8))
    #expect(scanned.unfit == nil)
    let trimmed = text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed()
    #expect(string(scanned.value.text) == String(trimmed))
    #expect(scanned.value.count == String(trimmed).utf8.count)
  }

  @Test(
    "RFC 8259: what the grammar does not allow is refused where it shows",
    arguments: [
      ("", 0), ("  ", 2), ("nul", 3), ("nulL", 3), ("True", 0), ("NaN", 0), ("Infinity", 0), ("-", 0),
      ("-a", 0),
      ("+1", 0), ("01", 0), ("-01", 0), ("1.", 0), (".5", 0), ("1.e5", 0), ("1e", 0), ("1e+", 0), ("0x10", 1),
      ("1 2", 2), ("1,", 1), ("\"", 1), ("\"abcdefghij", 11), ("'a'", 0), (#""\x""#, 1), (#""\u12g4""#, 1),
      (#""\u123"#, 1), (#""\"#, 1), ("\"a\nb\"", 2), ("\"a\tb\"", 2), ("\"\u{0}\"", 1), ("\"\u{1F}\"", 1),
      ("[", 1),
      ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("[1}", 2), ("]", 0), ("{", 1),
      ("{\"a\"", 4),
      ("{\"a\":", 5), ("{\"a\":1", 6), ("{\"a\":1,", 7), ("{\"a\":1,}", 7), ("{,}", 1), ("{a:1}", 1),
      ("{1:1}", 1),
      ("{\"a\" 1}", 5), ("{\"a\",1}", 4), ("{\"a\":1]", 6), ("{\"a\":}", 5), ("[1]]", 3), ("{}{}", 2),
      ("[1]//", 3),
      ("/*a*/1", 0), ("\u{FEFF}1", 0), ("\u{A0}1", 0), ("1\u{C}", 1), ("1\u{0}", 1), ("[1\u{0}]", 2),
      ("\u{0}", 0),
    ])
  func refused(_ text: String, _ offset: Int) {
    let defect = #expect(throws: JSONDefect.self) { try JSON.scan(Array(text.utf8)) }
    #expect(defect?.offset == offset)
    #expect(defect?.path == nil)
  }

  @Test(
    "RFC 3629: bytes that are not UTF-8 are refused, inside a string and outside",
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0xBF], [0xE0, 0xA0],
      [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x80], [0xE2, 0x41, 0x80], [0xE2, 0x80, 0x41],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x41, 0x80], [0xF0, 0x9F, 0x98, 0x41],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ] as [[UInt8]])
  func badUTF8(_ bytes: [UInt8]) {
    for padding in 0..<10 {
      let start = [0x22] + [UInt8](repeating: 0x61, count: padding)
      let defect = #expect(throws: JSONDefect.self) { try JSON.scan(start + bytes + [0x22]) }
      #expect(defect?.offset == padding + 1)
      #expect(throws: JSONDefect.self) { try JSON.scan(start + bytes) }
    }
    #expect(throws: JSONDefect.self) { try JSON.scan(bytes) }
  }

  @Test("RFC 3629: every code point that is no surrogate is read in its own form")
  func everyCodePoint() throws {
    var bytes: [UInt8] = [0x22]
    for scalar in Unicode.Scalar(0x80)!.value...0x10FFFF {
      if let scalar = Unicode.Scalar(scalar) { bytes += Array(String(scalar).utf8) }
    }
    bytes.append(0x22)
    let value = try JSON.scan(bytes).value
    #expect(value.count == bytes.count)
  }

  @Test("RFC 8259: a text that stops early is refused, wherever it stops")
  func everyPrefix() throws {
    let text = #" {"a":[1,-2.5e3,"x\u00e9\ud83d\ude00é😀\n",true,false,null,{}],"bb":{"c":[[]]}}"#
    let bytes = Array(text.utf8)
    #expect(throws: Never.self) { try JSON.scan(bytes) }
    for length in 0..<bytes.count {
      #expect(throws: JSONDefect.self, "the first \(length) bytes") { try JSON.scan(Array(bytes[..<length])) }
    }
  }

  @Test("A string's end is found at every alignment of the eight byte steps")
  func alignments() throws {
    for length in 0..<40 {
      for place in 0...length {
        let before = String(repeating: "a", count: place)
        let after = String(repeating: "b", count: length - place)
        let middles = [("", ""), (#"\""#, "\""), (#"\\"#, "\\"), ("é", "é"), (#"\u00e9"#, "é")]
        for (middle, decoded) in middles {
          let value = try json("[\"\(before)\(middle)\(after)\",1]")
          #expect(Array(value.elements().map(\.string)) == [before + decoded + after, nil])
        }
        #expect(throws: JSONDefect.self) { try json("[\"\(before)\u{1}\(after)\"]") }
      }
    }
  }
}
