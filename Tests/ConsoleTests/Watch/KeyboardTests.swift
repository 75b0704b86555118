import Testing

@testable import Console

@Suite("Keys from bytes, and what they ask for")
struct KeyboardTests {
  private static let sequences: [(String, Key)] = [
    ("\u{1B}[A", .up), ("\u{1B}OA", .up), ("\u{1B}[B", .down), ("\u{1B}OB", .down), ("\u{1B}[5~", .pageUp),
    ("\u{1B}[6~", .pageDown), ("\u{1B}[H", .home), ("\u{1B}OH", .home), ("\u{1B}[1~", .home),
    ("\u{1B}[7~", .home), ("\u{1B}[F", .end), ("\u{1B}[4~", .end), ("\u{1B}[8~", .end), ("\u{1B}[1;5A", .up),
    ("\u{1B}[3~", .unknown), ("\u{1B}[15~", .unknown), ("\u{1B}[Z", .unknown), ("\u{1B}x", .unknown),
    ("q", .letter("q")), ("?", .letter("?")), ("\u{3}", .control("c")), ("\u{1A}", .control("z")),
    ("\u{0C}", .control("l")), ("é", .unknown), ("漢", .unknown),
  ]

  @Test("every key, whole and split at every byte", arguments: sequences)
  func keys(_ text: String, _ key: Key) {
    let bytes = Array(text.utf8)
    for split in 0...bytes.count {
      var keyboard = Keyboard()
      let keys = keyboard.feed(Array(bytes[..<split])) + keyboard.feed(Array(bytes[split...]))
      #expect(keys == [key])
      #expect(!keyboard.isInside)
    }
  }

  @Test("an escape by itself is a key once nothing more comes")
  func escape() {
    var keyboard = Keyboard()
    #expect(keyboard.feed([0x1B]) == [])
    #expect(keyboard.isInside)
    #expect(keyboard.flush() == [.escape])
    #expect(!keyboard.isInside && keyboard.flush() == [])
    #expect(keyboard.feed([0x1B, 0x1B, 0x5B, 0x41]) == [.escape, .up])
  }

  @Test("keys that come together are told apart")
  func together() {
    var keyboard = Keyboard()
    #expect(keyboard.feed(Array("jk\u{1B}[Bq".utf8)) == [.letter("j"), .letter("k"), .down, .letter("q")])
  }

  @Test("any bytes make keys, and none keeps the keyboard inside for ever")
  func anyBytes() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max {
        var keyboard = Keyboard()
        _ = keyboard.feed([0x1B, first, second] + Array(repeating: 0x30, count: 40))
        #expect(!keyboard.isInside)
      }
    }
  }

  @Test(
    "among rows",
    arguments: [
      (.up, .move(-1)), (.letter("k"), .move(-1)), (.down, .move(1)), (.letter("j"), .move(1)),
      (.pageUp, .page(-1)), (.pageDown, .page(1)), (.home, .first), (.end, .last), (.letter("p"), .pauseKey),
      (.letter("r"), .resumeKey), (.letter("P"), .pauseQueue), (.letter("R"), .resumeQueue),
      (.letter("c"), .askToCancel), (.letter("t"), .retry), (.letter("f"), .filter), (.letter("s"), .sort),
      (.letter("?"), .help), (.letter("q"), .quit), (.control("c"), .interrupt), (.control("z"), .suspend),
      (.letter("y"), nil), (.letter("n"), nil), (.escape, nil), (.unknown, nil),
    ] as [(Key, Wish?)])
  func rows(_ key: Key, _ wish: Wish?) {
    #expect(Wish(key, in: .rows) == wish)
  }

  @Test("a question takes y for yes and everything else for no")
  func question() {
    let mode = Scene.Mode.asking(id: "a")
    #expect(Wish(.letter("y"), in: mode) == .cancel)
    for key in [Key.letter("n"), .letter("Y"), .letter("c"), .letter("q"), .escape, .down, .unknown] {
      #expect(Wish(key, in: mode) == .goBack)
    }
    #expect(Wish(.control("c"), in: mode) == .interrupt)
  }

  @Test("no key of the help does anything but go back")
  func help() {
    for key in [Key.letter("P"), .letter("c"), .escape, .down] { #expect(Wish(key, in: .help) == .goBack) }
    #expect(Wish(.letter("q"), in: .help) == .quit)
  }
}
