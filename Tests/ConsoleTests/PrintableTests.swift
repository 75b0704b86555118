import Glibc
import Testing

@testable import Console

@Suite("Text of others, made harmless for people")
struct PrintableTests {
  @Test(
    "what could move the cursor, hide or turn round is written as its number",
    arguments: [
      ("plain ünïcode 漢字", "plain ünïcode 漢字"), ("\u{1B}[31mred", "\\u{1b}[31mred"),
      ("a\nb\rc\td", "a\\u{a}b\\u{d}c\\u{9}d"), ("\u{202E}txt.exe", "\\u{202e}txt.exe"),
      ("\u{9B}2J", "\\u{9b}2J"), ("\u{7F}\u{0}", "\\u{7f}\\u{0}"), ("\u{200B}\u{FEFF}", "\\u{200b}\\u{feff}"),
      ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"), ("", ""),
    ])
  func harmless(_ text: String, _ shown: String) {
    #expect(Printable.text(text) == shown)
  }

  @Test("no text of two scalars brings a control character through")
  func noControl() {
    for first in (0...0x2100).compactMap(Unicode.Scalar.init) {
      let shown = Printable.text("\(first)x")
      #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }
  }

  @Test("a text is cut at a character, and says so", arguments: [(4, "abc…"), (6, "abcdef"), (9, "abcdef")])
  func cut(_ columns: Int, _ shown: String) {
    #expect(Printable.cut("abcdef", to: columns) == shown)
  }
}

@Suite("Numbers for people")
struct AmountTests {
  @Test(
    "bytes",
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_575, "1023.9 KiB"),
      (1 << 20, "1.0 MiB"), (Int64.max, "8.0 EiB"),
    ] as [(Int64, String)])
  func bytes(_ count: Int64, _ text: String) {
    #expect(Amount.bytes(count) == text)
  }

  @Test(
    "durations",
    arguments: [
      (-5, "0.0 s"), (0, "0.0 s"), (450, "0.4 s"), (12_000, "12 s"), (200_000, "3 min 20 s"),
      (120_000, "2 min"),
      (7_500_000, "2 h 5 min"), (1_137_600_000, "13 d 4 h"), (Int64.max, "106751991167 d 7 h"),
    ] as [(Int64, String)])
  func durations(_ ms: Int64, _ text: String) {
    #expect(Amount.duration(ms: ms) == text)
  }
}

@Suite("Tables that fit a terminal")
struct TableTests {
  private let columns = [
    Table.Column("ID", isFlexible: true), Table.Column("BYTES", isNumber: true),
    Table.Column("WHY", isFlexible: true),
  ]

  private func lines(_ rows: [[String]], width: Int?, isColoured: Bool = false) -> [String] {
    let cells = rows.map { $0.map { Table.Cell($0) } }
    let table = Table(columns, for: cells, width: width, isColoured: isColoured)
    return [table.head] + cells.map(table.line)
  }

  @Test("each column is as wide as its widest cell, numbers stand right")
  func natural() {
    #expect(
      lines([["a", "5", "x"], ["long-id", "12345678", ""]], width: nil) == [
        "ID          BYTES  WHY", "a               5  x", "long-id  12345678",
      ])
  }

  @Test("the widest flexible column gives way first, and no line is wider than the terminal")
  func fits() {
    let rows = [[String(repeating: "i", count: 60), "1", String(repeating: "w", count: 90)]]
    for width in [30, 40, 80, 200] {
      #expect(lines(rows, width: width).allSatisfy { Printable.width($0) <= width })
    }
    #expect(lines(rows, width: 40)[1].contains("…"))
    #expect(!lines(rows, width: 200)[1].contains("…"))
  }

  @Test("wide characters take two columns")
  func wide() {
    // As main does.
    setlocale(LC_CTYPE, "C.UTF-8")
    #expect(Printable.width("漢字x") == 5)
    #expect(lines([["漢字", "1", ""], ["abcd", "2", ""]], width: nil)[1...] == ["漢字      1", "abcd      2"])
  }

  @Test("colours are of the text alone")
  func colours() {
    let table = Table(
      columns, for: [[Table.Cell("a"), Table.Cell("1"), Table.Cell("")]], width: nil, isColoured: true)
    #expect(
      table.line([Table.Cell("a", .red), Table.Cell("1"), Table.Cell("")]) == "\u{1B}[31ma\u{1B}[0m       1")
  }
}
