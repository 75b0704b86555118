import Testing

@testable import AcceptanceCheck

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// What comes out of these chunks, with the pieces of each body joined.
private func pieces(_ chunks: [[UInt8]], maxBody: Int = 100) -> [RequestReader.Piece] {
  var reader = RequestReader(maxBody: maxBody)
  var pieces: [RequestReader.Piece] = []
  for chunk in chunks {
    reader.feed(chunk) { piece in
      if case .body(let more) = piece, case .body(let before)? = pieces.last {
        pieces[pieces.count - 1] = .body(before + more)
      } else {
        pieces.append(piece)
      }
    }
  }
  return pieces
}

@Suite("The receiver reads requests")
struct RequestReaderTests {
  private static let stream = bytes(
    "POST /a?b=c HTTP/1.1\r\nHost: x\r\nCONTENT-length:  5\r\nX-Empty:\r\n\r\n\r\n\r\n!"
      + "GET /d HTTP/1.1\r\n\r\nPUT /e HTTP/1.1\r\nContent-Length: 0\r\n\r\n")

  @Test("the same requests come out wherever the stream is cut in two, and byte by byte")
  func everySplit() throws {
    let expected = pieces([Self.stream])
    #expect(expected.count == 7)
    for cut in 0...Self.stream.count {
      #expect(pieces([Array(Self.stream[..<cut]), Array(Self.stream[cut...])]) == expected, "cut at \(cut)")
    }
    #expect(pieces(Self.stream.map { [$0] }) == expected)
  }

  @Test("a head has its method, its path without the query, and its fields by names in lower case")
  func head() throws {
    let found = pieces([Self.stream])
    guard case .head(let head) = found[0] else { throw Unexpected() }
    #expect((head.method, head.path, head.length) == ("POST", "/a", 5))
    #expect(head.value("content-length") == "5")
    #expect(head.value("x-empty") == "")
    #expect(head.value("x-none") == nil)
    #expect(found[1] == .body(bytes("\r\n\r\n!")[...]))
    #expect(found[2] == .end)
    guard case .head(let second) = found[3] else { throw Unexpected() }
    #expect((second.method, second.path, second.length) == ("GET", "/d", 0))
  }

  @Test("a body of the cap is taken, one over it is refused before it is read")
  func cap() {
    func post(_ length: Int) -> [UInt8] { bytes("POST / HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n") }
    let body = [UInt8](repeating: 1, count: 100)
    #expect(pieces([post(100), body]).last == .end)
    #expect(pieces([post(101), body]) == [.refused(status: 413)])
    #expect(
      pieces([bytes("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n")])
        == [.refused(status: 413)])
  }

  @Test("a head that does not end is refused at its cap, in bounded memory")
  func endlessHead() {
    let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
    let most = RequestReader.maxHead
    #expect(pieces(Array(repeating: chunk, count: most / 1000)) == [])
    #expect(pieces(Array(repeating: chunk, count: most / 1000 + 2)) == [.refused(status: 431)])
  }

  @Test(
    "what is no request that is served is refused, and nothing after it is read",
    arguments: [
      ("POST /", 400), ("POST / HTTP/1.0", 400), ("POST x HTTP/1.1", 400), ("POST  / HTTP/1.1", 400),
      ("POST / HTTP/1.1\r\nno colon", 400), ("POST / HTTP/1.1\r\n: x", 400),
      ("POST / HTTP/1.1\r\nA: b\r\n c", 400), ("POST / HTTP/1.1\r\nContent-Length: -1", 400),
      ("POST / HTTP/1.1\r\nContent-Length:", 400),
      ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1", 400),
      ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked", 411),
    ])
  func refused(head: String, status: Int) {
    #expect(pieces([bytes(head + "\r\n\r\n"), Self.stream]) == [.refused(status: status)])
  }
}

struct Unexpected: Error {}
