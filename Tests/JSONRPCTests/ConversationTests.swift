import JSONRPC
import Testing

@Suite struct ConversationTests {
  @Test("A bad line is answered once, and the stream goes on, wherever it is cut")
  func streamGoesOn() {
    let stream = Array(
      ("garbage\n" + #"{"jsonrpc":"2.0","id":1,"method":"a"}"# + "\r\n\n[1,2]\n"
        + #"{"jsonrpc":"2.0","id":2,"method":"b","params":{"v":"\ud800"}}"# + "\n"
        + String(repeating: "x", count: 90) + "\n" + #"{"jsonrpc":"2.0","id":"😀","method":"c"}"# + "\n").utf8)
    let expected = [
      "null refused -32700 E_PARSE", "1 calls a", "null refused -32600 E_REQUEST",
      "2 refused -32602 E_INVALID v",
      "too long", "\"😀\" calls c",
    ]
    for cut in 0...stream.count {
      var reader = FrameReader(maxLine: 80)
      var readings: [String] = []
      func take(_ frame: Frame) {
        switch frame {
        case .line(let line): readings.append(Reading(.read(line)).description)
        case .tooLong: readings.append("too long")
        }
      }
      reader.feed(Array(stream[..<cut]), take)
      reader.feed(Array(stream[cut...]), take)
      reader.finish(take)
      #expect(readings == expected, "cut at \(cut)")
    }
  }
}
