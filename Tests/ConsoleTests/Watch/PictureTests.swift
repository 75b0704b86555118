import Glibc
import QueueModel
import Testing

@testable import Console

@Suite("The picture of a queue in a window")
struct PictureTests {
  init() {
    // As main does.
    setlocale(LC_CTYPE, "C.UTF-8")
  }

  static func scene() -> Scene {
    var scene = Scene()
    scene.directory = "/var/lib/program/queue"
    scene.server = .process(29587)
    scene.counts = [.running: 2, .queued: 99_995, .awaitingAuth: 1, .paused: 1, .error: 1]
    scene.speed = 5_000_000
    scene.items = [
      Scene.Item(
        id: "photo-1", key: "photo.upload", state: .running, sent: 12_000_000, total: 26_000_000, attempts: 1,
        speed: 4_300_000, timeLeft: 3300),
      Scene.Item(
        id: "note-7", key: "note.add", state: .queued, total: 20, attempts: 2, words: "retry in 12 s"),
      Scene.Item(
        id: "secret", key: "k", state: .awaitingAuth, total: 1, attempts: 1, words: "wants new credentials"),
      Scene.Item(
        id: "\u{1B}[2J\n漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", key: "\u{9B}31m\u{202E}", state: .paused,
        words: "key paused"),
      Scene.Item(id: "old", key: "k", state: .error, total: 5, attempts: 9, words: "http 404: \u{7} no"),
    ]
    return scene
  }

  private func lines(
    _ scene: Scene, _ columns: Int, _ rows: Int, _ glyphs: Glyphs = .utf8
  ) -> [String] {
    Picture(scene, columns: columns, rows: rows, glyphs).strips.map { strip in
      String(strip.text.reversed().drop { $0 == " " }.reversed())
    }
  }

  @Test("80 columns")
  func usual() {
    let lines = lines(PictureTests.scene(), 80, 11)
    #expect(lines[0] == "/var/lib/program/queue                                   served by process 29587")
    #expect(lines[1] == "2 running  99995 queued  1 awaiting-auth  1 paused  1 error            4.7 MiB/s")
    #expect(lines[2].hasPrefix("  ID ") && lines[2].hasSuffix("SPEED   LEFT  TRIES"))
    #expect(lines[3].hasPrefix("▸ photo-1           running       ██"))
    #expect(lines[3].contains("░  46%  4.1 MiB/s     3s      1"))
    #expect(lines[4].contains("note-7            queued        retry in 12 s") && lines[4].hasSuffix("2"))
    #expect(lines[5].contains("awaiting-auth wants new credentials"))
    #expect(lines[6].contains("\\u{1b}[2J") && lines[6].contains("…") && lines[6].contains("key paused"))
    #expect(lines[7].contains("http 404: \\u{7} no"))
    #expect(lines[10].hasSuffix("? help  q quit"))
  }

  @Test("40 columns show what counts")
  func narrow() {
    let lines = lines(PictureTests.scene(), 40, 12)
    #expect(lines[0].hasPrefix("…") && lines[0].hasSuffix("queue  served by process 29587"))
    #expect(lines[1].hasPrefix("2 run  99995 wait  1 auth") && lines[1].hasSuffix("4.7 MiB/s"))
    #expect(lines[3].hasPrefix("▸ photo-1      run    ██") && lines[3].hasSuffix("46%"))
    #expect(lines[4] == "  note-7       wait   retry in 12 s")
    #expect(lines[5] == "  secret       auth   wants new credent…")
    #expect(lines[11].contains("? help  q quit"))
  }

  @Test("wide windows have the key and the size as well")
  func wide() {
    let lines = lines(PictureTests.scene(), 140, 12)
    #expect(lines[2].contains("KEY") && lines[2].contains("SIZE"))
    #expect(lines[3].contains("photo.upload") && lines[3].contains("24.7 MiB"))
    #expect(lines[6].contains("\\u{9b}31m\\u{202e}"))
  }

  private static let modes: [Scene.Mode] = [
    .rows, .help, .asking(id: "\u{1B}漢" + String(repeating: "x", count: 200)),
  ]

  @Test("in a window of any size there are exactly its rows, none too wide, and no control character")
  func sizes() {
    for mode in PictureTests.modes {
      for glyphs in [Glyphs.utf8, .ascii] {
        for columns in [1, 2, 5, 10, 20, 39, 40, 41, 63, 64, 80, 99, 100, 132, 300] {
          for rows in 0...14 {
            var scene = PictureTests.scene()
            scene.mode = mode
            scene.isPaused = true
            scene.pausedKeys = ["\u{1B}", "漢字"]
            scene.network = "wifi only, network none"
            let picture = Picture(scene, columns: columns, rows: rows, glyphs)
            #expect(picture.strips.count == rows)
            #expect(picture.strips.allSatisfy { $0.width <= columns }, "\(columns) × \(rows) \(mode)")
            let scalars = picture.strips.flatMap(\.text.unicodeScalars)
            #expect(!scalars.contains { $0.properties.generalCategory == .control })
            if glyphs == .ascii { #expect(scalars.allSatisfy { $0.isASCII }) }
          }
        }
      }
    }
  }

  @Test("in a low window rows of entries stay, and what a person is asked")
  func low() {
    var scene = PictureTests.scene()
    for rows in 1...6 { #expect(lines(scene, 80, rows).contains { $0.contains("photo-1") }, "\(rows)") }
    scene.mode = .asking(id: "photo-1")
    for rows in 1...6 { #expect(lines(scene, 80, rows).last == "cancel photo-1? y/n", "\(rows)") }
  }

  @Test("the question is whole also of a long id")
  func longQuestion() {
    var scene = PictureTests.scene()
    scene.mode = .asking(id: String(repeating: "x", count: 256))
    #expect(lines(scene, 40, 10).last?.hasSuffix("x…? y/n") == true)
  }

  @Test("nobody who serves, a silent process, and pauses are told")
  func conditions() {
    var scene = PictureTests.scene()
    scene.server = .nobody
    #expect(lines(scene, 40, 9)[0].hasSuffix("  nobody serves this queue"))
    scene.server = .silent(7)
    #expect(lines(scene, 80, 9)[0].hasSuffix("process 7 does not answer"))
    scene.isPaused = true
    scene.pausedKeys = ["a", "b\u{7}"]
    scene.network = "wifi only, network cellular, metered"
    scene.key = "a"
    scene.filter = .running
    scene.order = .newest
    #expect(
      lines(scene, 200, 9)[2]
        == "queue paused · paused keys: a, b\\u{7} · wifi only, network cellular, metered · key a"
        + " · only running · newest first")
    #expect(lines(scene, 200, 9, .ascii)[2].contains("queue paused | paused keys"))
  }

  @Test("an empty queue says so")
  func empty() {
    var scene = Scene()
    #expect(lines(scene, 80, 8).contains("  The queue is empty."))
    #expect(lines(scene, 80, 8)[1] == "no entries")
    scene.filter = .failed
    #expect(lines(scene, 80, 8).contains("  No entry of those."))
  }

  @Test("the help fits 40 columns, and names every key")
  func help() {
    var scene = Scene()
    scene.mode = .help
    let text = lines(scene, 40, 24).joined(separator: "\n")
    #expect(!text.contains("…"))
    for word in ["pause", "resume", "cancel", "try it now", "failed", "newest", "quit"] {
      #expect(text.contains(word))
    }
  }

  @Test("the room is what is left for rows")
  func room() {
    #expect(Picture(PictureTests.scene(), columns: 80, rows: 24, .utf8).room == 20)
    #expect(Picture(PictureTests.scene(), columns: 80, rows: 1, .utf8).room == 1)
    #expect(Picture(PictureTests.scene(), columns: 80, rows: 0, .utf8).room == 0)
  }
}

@Suite("Widths, bars and short words")
struct GlyphsTests {
  init() { setlocale(LC_CTYPE, "C.UTF-8") }

  @Test(
    "the character set is that of the locale",
    arguments: [
      (["LANG": "en_US.UTF-8"], .utf8), (["LANG": "C.utf8"], .utf8), (["LANG": "C"], .ascii), ([:], .ascii),
      (["LANG": "en_US.UTF-8", "LC_ALL": "C"], .ascii), (["LC_CTYPE": "de_DE.UTF-8", "LANG": "C"], .utf8),
      (["LC_ALL": "", "LANG": "C.UTF-8"], .utf8), (["LANG": "de_DE.ISO-8859-1"], .ascii),
    ] as [([String: String], Glyphs)])
  func locale(_ variables: [String: String], _ glyphs: Glyphs) {
    #expect(Glyphs { variables[$0] } == glyphs)
  }

  @Test("cutting and filling count columns, not characters")
  func columns() {
    #expect(Glyphs.utf8.fit("漢字", to: 6) == "漢字  ")
    #expect(Glyphs.utf8.fit("漢字漢", to: 4) == "漢… ")
    #expect(Glyphs.utf8.fit("漢字漢", to: 5) == "漢字…")
    #expect(Glyphs.utf8.fit("e\u{301}x", to: 3) == "e\u{301}x ")
    #expect(Glyphs.utf8.fit("7", to: 3, isRight: true) == "  7")
    #expect(Glyphs.ascii.fit("abcdef", to: 4) == "abc~")
    #expect(Glyphs.utf8.cutBeginning(of: "/var/lib/漢字", to: 7) == "…b/漢字")
    for columns in 0...8 { #expect(Printable.width(Glyphs.utf8.fit("a漢b字c", to: columns)) == columns) }
  }

  @Test("outside UTF-8 nothing but ASCII is shown")
  func ascii() {
    #expect(Glyphs.ascii.clean("ü漢\u{9B}a") == "\\u{fc}\\u{6f22}\\u{9b}a")
    #expect(Glyphs.utf8.clean("ü漢\u{9B}a") == "ü漢\\u{9b}a")
  }

  @Test(
    "bars",
    arguments: [
      (0, 10, "", "░░░░"), (10, 10, "████", ""), (5, 10, "██", "░░"), (99, 100, "███▉", ""),
      (1, 32, "▏", "░░░"), (0, 0, "", "░░░░"), (20, 10, "████", ""), (-1, 10, "", "░░░░"),
    ] as [(Int64, Int64, String, String)])
  func bars(_ part: Int64, _ whole: Int64, _ full: String, _ empty: String) {
    let bar = Glyphs.utf8.bar(part, of: whole, columns: 4)
    #expect(bar.full == full && bar.empty == empty)
  }

  @Test("a bar has its columns, and only the whole fills it")
  func barWidths() {
    for glyphs in [Glyphs.utf8, .ascii] {
      for columns in 0...9 {
        for part in Int64(0)...50 {
          let bar = glyphs.bar(part, of: 50, columns: columns)
          #expect(bar.full.count + bar.empty.count == columns)
          let whole = String(repeating: glyphs == .utf8 ? "█" : "#", count: columns)
          if columns > 0 { #expect((bar.full == whole) == (part == 50)) }
        }
      }
    }
    #expect(Glyphs.ascii.bar(1, of: 2, columns: 4) == ("##", "--"))
  }

  @Test(
    "durations of six columns",
    arguments: [
      (-1, "0.0s"), (400, "0.4s"), (12_000, "12s"), (200_000, "3m20s"), (3_600_000, "1h00m"),
      (7_500_000, "2h05m"), (90_000_000, "1d01h"), (8_639_999_999, "99d23h"), (Int64.max, ">99d"),
    ] as [(Int64, String)])
  func durations(_ ms: Int64, _ text: String) {
    #expect(Brief.duration(ms: ms) == text && text.count <= 6)
  }

  @Test(
    "bytes of eight columns",
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (4_300_000, "4.1 MiB"), (104_857_600, "100 MiB"), (1_048_575, "1023 KiB"),
    ] as [(Int64, String)])
  func bytes(_ count: Int64, _ text: String) {
    #expect(Brief.bytes(count) == text && text.count <= 8)
  }

  @Test(
    "percents", arguments: [(0, 0, "0%"), (1, 3, "33%"), (999, 1000, "99%"), (3, 3, "100%"), (4, 3, "100%")])
  func percents(_ part: Int, _ whole: Int, _ text: String) {
    #expect(Brief.percent(Int64(part), of: Int64(whole)) == text)
  }

  @Test(
    "why an entry waits",
    arguments: [
      ([("backoff", 13_000)], "retry in 12 s"), ([("credentials", nil)], "wants new credentials"),
      ([("key", nil), ("backoff", 13_000)], "key paused, retry in 12 s"), ([("queue", nil)], "queue paused"),
      ([("outage", nil)], "origin example.org is out"), ([("slots", nil)], "no slot"),
      ([("origin", nil)], "example.org is busy"), ([("network", nil)], "waits for wifi"),
      ([("store", nil)], "storage fails"), ([("later\u{1B}", nil)], "later\\u{1b}"), ([], "goes next"),
    ] as [([(String, Int64?)], String)])
  func reasons(_ holds: [(String, Int64?)], _ text: String) {
    let holds = holds.map { Brief.Hold(gate: $0.0, until: $0.1) }
    #expect(Brief.reason(holds, isServed: true, origin: "example.org", now: 1000) == text)
    let unserved = Brief.reason(holds, isServed: false, origin: "example.org", now: 1000)
    #expect(unserved == (holds.isEmpty ? "nobody serves" : "\(text), nobody serves"))
  }

  @Test(
    "origins",
    arguments: [
      ("https://example.org:443", "example.org"), ("http://example.org:80", "example.org"),
      ("http://127.0.0.1:8080", "127.0.0.1:8080"), ("https://example.org:80", "example.org:80"), ("", ""),
    ])
  func origins(_ text: String, _ shown: String) {
    #expect(Brief.origin(text) == shown)
  }
}
