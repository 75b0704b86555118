import Testing

@testable import AcceptanceCheck

@Suite("The file is taken out of a form")
struct MultipartBodyTests {
  private func received(_ type: String, _ body: String) throws -> Received {
    let head = Array("POST / HTTP/1.1\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)".utf8)
    let received = Received(try RequestHead(head[...], maxBody: 10 << 20))
    received.take(Array(body.utf8)[...])
    return received
  }

  @Test("byte for byte, line ends and what looks like a boundary included")
  func field() throws {
    let file = "\r\n--B\r\r\n\r\n-- B"
    let request = try received(
      "multipart/form-data; boundary=BB",
      "--BB\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nname=\"file\"\r\n--BB\r\n"
        + "Content-Disposition: form-data; name=\"file\"; filename=\"x\"\r\nContent-Type: a/b\r\n\r\n"
        + "\(file)\r\n--BB--\r\n")
    let form = try #require(MultipartBody(request))
    #expect(form.field("file") == Array(file.utf8))
    #expect(form.field("title") == Array("name=\"file\"".utf8))
    #expect(form.field("other") == nil)
  }

  @Test("no form, no field: another type, no boundary, a body that was too long to keep")
  func none() throws {
    #expect(MultipartBody(try received("text/plain", "--BB")) == nil)
    #expect(MultipartBody(try received("multipart/form-data; x=y", "--BB")) == nil)
    let long = String(repeating: "x", count: Received.maxKept + 1)
    #expect(MultipartBody(try received("multipart/form-data; boundary=BB", long)) == nil)
    let other = try #require(MultipartBody(try received("multipart/form-data; boundary=BB", "--CC\r\n")))
    #expect(other.field("file") == nil)
  }
}
