import JSONText
import Testing

@Suite struct WriterTests {
  @Test("Commas and colons come by themselves")
  func structure() throws {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("a", 1)
      writer.member("b") { $0.array { _ in } }
      writer.key("c")
      writer.beginArray()
      writer.value("x")
      writer.value(Int64.min)
      writer.value(true)
      writer.null()
      writer.object { _ in }
      writer.object { $0.member("d", false) }
      writer.raw(.null)
      writer.rawExact(.emptyObject)
      writer.value(1.5)
      writer.endArray()
      writer.member("e", "y")
      writer.member("f", Int64.max)
      writer.member("g", 0.25)
      writer.member("h", JSON.emptyObject)
    }
    let expected =
      #"{"a":1,"b":[],"c":["x",-9223372036854775808,true,null,{},{"d":false},null,{},1.5],"e":"y","#
      + #""f":9223372036854775807,"g":0.25,"h":{}}"#
    #expect(string(writer.bytes) == expected)
    #expect(throws: Never.self) { try JSON(checking: writer.bytes) }
  }

  @Test("A writer goes on behind the bytes that it was given")
  func behindGivenBytes() {
    var writer = JSONWriter([0x20])
    writer.value(1)
    #expect(string(writer.bytes) == " 1")
    #expect(string(JSON { $0.array { $0.value("a") } }.text) == #"["a"]"#)
  }

  @Test("A-RPC-05: the C0 controls, DEL and the line separators are escaped, and nothing else is")
  func escapes() throws {
    for scalar in (UInt32(0)...0x3000).compactMap(Unicode.Scalar.init) {
      for padding in [0, 3, 7, 8, 13] {
        let text = String(repeating: "a", count: padding) + String(scalar) + "\u{E9}bcdefghi"
        var writer = JSONWriter()
        writer.value(text)
        let isEscaped =
          scalar.value < 0x20 || [0x22, 0x5C, 0x7F, 0x2028, 0x2029].contains(scalar.value)
        #expect(writer.bytes.contains(0x5C) == isEscaped, "U+\(String(scalar.value, radix: 16))")
        #expect(!writer.bytes.contains { $0 < 0x20 || $0 == 0x7F })
        let back = try #require(try JSON(checking: writer.bytes).string)
        #expect(back.utf8.elementsEqual(text.utf8))
      }
    }
  }

  @Test(
    "Escapes are the short ones where JSON has them",
    arguments: [
      ("\"\\\n\r\t", #""\"\\\n\r\t""#), ("\u{0}\u{1F}\u{7F}", #""\u0000\u001f\u007f""#),
      ("\u{2028}\u{2029}\u{202A}/", "\"\\u2028\\u2029\u{202A}/\""), ("", "\"\""),
    ])
  func shortEscapes(_ text: String, _ written: String) {
    var writer = JSONWriter()
    writer.value(text)
    #expect(string(writer.bytes) == written)
  }

  @Test("Names are escaped as strings are")
  func names() {
    var writer = JSONWriter()
    writer.object { $0.member("a\"\u{2028}", 1) }
    #expect(string(writer.bytes) == #"{"a\"\u2028":1}"#)
  }

  @Test("A string from a bridged or sliced source is written whole")
  func sources() {
    let long = String(repeating: "h\u{E9}llo ", count: 1000)
    var writer = JSONWriter()
    writer.value(String(long.dropFirst(3)))
    #expect(string(writer.bytes) == "\"\(long.dropFirst(3))\"")
  }

  @Test(
    "Stored text goes into a frame as it stands, but for what protocol.md section 1 escapes",
    arguments: [
      (#"{"b":1.0,"a":null,"a":"\u0041\/"}"#, #"{"b":1.0,"a":null,"a":"\u0041\/"}"#),
      (
        "[\"\u{7F}\u{2028}\u{2029}\u{202A}\u{E9}\",\"\u{1F600}\"]",
        "[\"\\u007f\\u2028\\u2029\u{202A}\u{E9}\",\"\u{1F600}\"]"
      ),
      ("{\r\n\t\"a\" : 1\n}", "{  \t\"a\" : 1 }"), ("{\"\u{2028}\":\n\n0}", "{\"\\u2028\":  0}"),
      ("[\"0123456789\u{7F}\",\n\"\u{2029}\"\r]", "[\"0123456789\\u007f\", \"\\u2029\" ]"),
    ])
  func raw(_ text: String, _ written: String) throws {
    let value = try json(text)
    var writer = JSONWriter()
    writer.raw(value)
    #expect(string(writer.bytes) == written)
    #expect(try JSON(checking: writer.bytes).isEquivalent(to: value))
    var exact = JSONWriter()
    exact.rawExact(value)
    #expect(exact.bytes == Array(text.utf8))
  }

  @Test("A slice of a line is written without what stands around it")
  func rawSlice() throws {
    let line = try json("{\"x\":\"\u{7F}\",\"vars\":[1,\"\u{7F}\"],\"y\":\"\u{2028}\"}")
    var writer = JSONWriter()
    writer.raw(try #require(line["vars"]))
    #expect(string(writer.bytes) == #"[1,"\u007f"]"#)
  }

  @Test(
    "A written double reads back as the same double",
    arguments: [0.1, -0.0, 1e300, .leastNonzeroMagnitude, 1.0, 123456789.25])
  func doubles(_ value: Double) throws {
    var writer = JSONWriter()
    writer.value(value)
    #expect(try JSON(checking: writer.bytes).double == value)
  }
}
