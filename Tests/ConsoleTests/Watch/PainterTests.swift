import Glibc
import Testing

@testable import Console

@Suite("What is written to change the screen")
struct PainterTests {
  init() { setlocale(LC_CTYPE, "C.UTF-8") }

  private func picture(_ change: (inout Scene) -> Void = { _ in }) -> Picture {
    var scene = PictureTests.scene()
    change(&scene)
    return Picture(scene, columns: 80, rows: 12, .utf8)
  }

  @Test("the first picture clears, the same one again writes nothing")
  func first() {
    var painter = Painter(isColoured: false)
    let text = painter.paint(picture(), columns: 80)
    #expect(text.hasPrefix("\u{1B}[?2026h\u{1B}[0m\u{1B}[2J") && text.hasSuffix("\u{1B}[?2026l"))
    #expect(text.contains("\u{1B}[4;1H▸ photo-1"))
    #expect(painter.paint(picture(), columns: 80).isEmpty)
  }

  @Test("only lines that changed are written, several at once between marks")
  func changes() {
    var painter = Painter(isColoured: false)
    _ = painter.paint(picture(), columns: 80)
    let one = painter.paint(picture { $0.items[1].words = "no slot" }, columns: 80)
    #expect(one.hasPrefix("\u{1B}[5;1H  note-7"))
    #expect(!one.contains("2026") && !one.contains("photo-1") && !one.contains("2J"))
    let two = painter.paint(picture { $0.selected = 1 }, columns: 80)
    #expect(two.hasPrefix("\u{1B}[?2026h\u{1B}[4;1H  photo-1") && two.contains("\u{1B}[5;1H▸ note-7"))
    #expect(two.hasSuffix("\u{1B}[?2026l") && !two.contains("secret"))
  }

  @Test("a line that becomes shorter is wiped to its end; a full one is not, since that would eat its end")
  func wiping() {
    var painter = Painter(isColoured: false)
    _ = painter.paint(picture(), columns: 80)
    let message = painter.paint(picture { $0.message = "done" }, columns: 80)
    #expect(message == "\u{1B}[12;1Hdone\u{1B}[K")
    let full = painter.paint(
      picture {
        $0.message = "done"
        $0.speed = 9
      }, columns: 80)
    #expect(full.hasSuffix("9 B/s"))
  }

  @Test("another size, or a screen of which nothing is known, is drawn anew")
  func anew() {
    var painter = Painter(isColoured: false)
    _ = painter.paint(picture(), columns: 80)
    #expect(painter.paint(picture(), columns: 81).contains("\u{1B}[2J"))
    painter.forget()
    #expect(painter.paint(picture(), columns: 81).contains("\u{1B}[2J"))
    let small = Picture(PictureTests.scene(), columns: 81, rows: 5, .utf8)
    #expect(painter.paint(small, columns: 81).contains("\u{1B}[2J"))
  }

  @Test("colours end in their line, and without colours there is none")
  func colours() {
    let strips = picture().strips
    let coloured = strips.map { $0.drawn(isColoured: true) }
    #expect(coloured.contains { $0.contains("\u{1B}[36m") })
    for line in coloured {
      guard let last = line.lastIndex(of: "\u{1B}") else { continue }
      #expect(line[last...].hasPrefix("\u{1B}[0m"))
    }
    #expect(strips.allSatisfy { !$0.drawn(isColoured: false).contains("\u{1B}") })
  }
}
