import Foundation
import QueueModel
import Testing

@testable import QueueStore

@Suite("Bytes of a multipart body")
struct MultipartTests {
  /// What goes on the wire, with the boundary written as `B`.
  private func text(_ fields: [FormField], seed: UInt64 = 1) throws -> (text: String, contentType: String) {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let staged = try store.stager.stage(.form(fields), staging: .copy, randomness: SeededRandomness(seed))
    let contentType = try #require(staged.body.contentType)
    let boundary = try #require(contentType.split(separator: "=").last)
    let bytes = try #require(staged.rowBytes)
    #expect(staged.body.length == Int64(bytes.count))
    return (String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: boundary, with: "B"), contentType)
  }

  private func file(_ directory: TemporaryDirectory, _ name: String? = nil) throws -> FormField.Content {
    let path = try directory.write("hi".utf8, to: "ünï 1.txt")
    return .path(FilePath(bytes: Array(path.utf8)), fileName: name)
  }

  @Test(
    "B134: every byte is as RFC 7578 says; a file's name is the last component of its path by default"
  )
  func exactBytes() throws {
    let directory = try TemporaryDirectory()
    let (text, contentType) = try text([
      FormField(name: "a", contentType: "text/plain", content: .string("one\r\ntwo")),
      FormField(name: "b", contentType: "image/png; x=\"y\"", content: file(directory)),
      FormField(name: "c", contentType: "t/t", content: .string("")),
      FormField(name: "d", contentType: "t/t", content: file(directory, "given")),
    ])
    let expected = """
      --B
      Content-Disposition: form-data; name="a"
      Content-Type: text/plain

      one
      two
      --B
      Content-Disposition: form-data; name="b"; filename="ünï 1.txt"
      Content-Type: image/png; x="y"

      hi
      --B
      Content-Disposition: form-data; name="c"
      Content-Type: t/t


      --B
      Content-Disposition: form-data; name="d"; filename="given"
      Content-Type: t/t

      hi
      --B--

      """
    #expect(Array(text.utf8) == Array(expected.replacingOccurrences(of: "\n", with: "\r\n").utf8))
    #expect(contentType.hasPrefix("multipart/form-data; boundary="))
  }

  static let fileNames = [
    ("A-FORM-01: a double quote", "a\"b.txt", "a%22b.txt"),
    ("A-FORM-02: a line end", "x\r\nX-Injected: 1.txt", "x%0D%0AX-Injected: 1.txt"),
    ("A-FORM-04: other scripts", "Файл-文件-é-😀.pdf", "Файл-文件-é-😀.pdf"),
    ("A-FORM-05: a backslash", "a\\b.txt", "a\\b.txt"), ("no percent sign is touched", "50%.txt", "50%.txt"),
  ]

  @Test(
    "A-FORM-01, A-FORM-02, A-FORM-04, A-FORM-05: only what would end a file name is written otherwise",
    arguments: fileNames)
  func fileName(_ name: String, _ given: String, _ written: String) throws {
    let directory = try TemporaryDirectory()
    let (text, _) = try text([FormField(name: "f", contentType: "t/t", content: file(directory, given))])
    let lines = text.components(separatedBy: "\r\n")
    #expect(
      lines == [
        "--B", "Content-Disposition: form-data; name=\"f\"; filename=\"\(written)\"", "Content-Type: t/t", "",
        "hi",
        "--B--", "",
      ], "\(name)")
  }

  @Test(
    "A-FORM-06: a field's name keeps brackets, spaces and other scripts",
    arguments: ["upload[]", "a b", "ключ"])
  func fieldName(_ name: String) throws {
    let (text, _) = try text([FormField(name: name, contentType: "t/t", content: .string("x"))])
    #expect(text.contains("; name=\"\(name)\"\r\n"))
  }

  @Test("A-FORM-06: quotes and line ends in a field's name are written otherwise")
  func escapedFieldName() throws {
    let (text, _) = try text([FormField(name: "a\"\r\nb", contentType: "t/t", content: .string("x"))])
    #expect(text.contains("; name=\"a%22%0D%0Ab\"\r\n"))
  }

  @Test(
    "A-FORM-07: the boundary is a token of at most 70 characters, unquoted, new for each body, in no value"
  )
  func boundary() throws {
    let value = Array(repeating: String(repeating: "-", count: 26), count: 3).joined(separator: "\n")
    let fields = [FormField(name: "v", contentType: "t/t", content: .string(value))]
    let (text, contentType) = try text(fields)
    #expect(text.components(separatedBy: "--B\r\n").count == 2)
    #expect(text.contains("\r\n\r\n\(value)\r\n--B--\r\n"))
    let boundary = try #require(contentType.split(separator: "=").last)
    #expect(boundary.utf8.count <= 70)
    #expect(
      boundary.utf8.allSatisfy {
        $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0)
      })
    try #expect(self.text(fields, seed: 2).contentType != contentType)

    // The same bits, but a value that holds the boundary which they give: another one is taken.
    let clash = [FormField(name: "v", contentType: "t/t", content: .string("x--\(boundary)--"))]
    let other = Multipart(clash, randomness: SeededRandomness(1)).boundary
    #expect(other != String(boundary))
  }
}
