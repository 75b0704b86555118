import QueueModel

/// The columns of a row in a window of some width.
struct RowLayout {
  private let glyphs: Glyphs
  private let id: Int
  private let key: Int
  private let state: Int
  /// For progress or a reason.
  private let middle: Int
  private let attempts: Int
  private let isNarrow: Bool

  private static let gap = 1
  private static let marker = 2
  private static let percent = 5

  init(columns: Int, _ glyphs: Glyphs) {
    self.glyphs = glyphs
    isNarrow = columns < 64
    let isWide = columns >= 100
    id = min(40, max(6, isNarrow ? columns * 3 / 10 : columns * 22 / 100))
    key = isWide ? min(24, columns * 15 / 100) : 0
    state = isNarrow ? 6 : 13
    attempts = isNarrow ? 0 : 6
    let others = [id, key, state, attempts].filter { $0 > 0 }
    middle = max(0, columns - RowLayout.marker - others.reduce(0) { $0 + $1 + RowLayout.gap })
  }

  // MARK: Progress

  /// Columns of the bar and of the numbers behind it, by what there is room for.
  private var parts: (bar: Int, size: Int, speed: Int, timeLeft: Int) {
    let rest = middle - RowLayout.percent
    if rest >= 36 { return (rest - 27, 9, 11, 7) }
    if rest >= 26 { return (rest - 18, 0, 11, 7) }
    if rest >= 15 { return (rest - 7, 0, 0, 7) }
    return (max(0, rest), 0, 0, 0)
  }

  private func progress(of item: Scene.Item) -> Strip {
    let (columns, size, speed, timeLeft) = parts
    let bar = glyphs.bar(item.sent, of: item.total, columns: columns)
    var strip = Strip(bar.full, .cyan)
    strip.add(bar.empty, .faint)
    let percent = Brief.percent(item.sent, of: item.total)
    strip.add(glyphs.fit(percent, to: RowLayout.percent, isRight: true))
    strip.add(glyphs.fit(Brief.bytes(item.total), to: size, isRight: true), .faint)
    let speedText = item.speed.map { "\(Brief.bytes($0))/s" } ?? ""
    strip.add(glyphs.fit(speedText, to: speed, isRight: true))
    let left = item.timeLeft.map { Brief.duration(ms: $0) } ?? ""
    strip.add(glyphs.fit(left, to: timeLeft, isRight: true))
    return strip
  }

  // MARK: Lines

  /// The titles of the columns.
  var head: Strip {
    let (bar, size, speed, timeLeft) = parts
    let progress =
      glyphs.fit("PROGRESS", to: bar + RowLayout.percent) + glyphs.fit("SIZE", to: size, isRight: true)
      + glyphs.fit("SPEED", to: speed, isRight: true) + glyphs.fit("LEFT", to: timeLeft, isRight: true)
    let texts = texts(id: "ID", key: "KEY", state: "STATE", attempts: "TRIES")
    return Strip("  " + texts.front + glyphs.fit(progress, to: middle) + texts.back, .faint)
  }

  func line(_ item: Scene.Item, isSelected: Bool) -> Strip {
    var strip = Strip(isSelected ? glyphs.marker : "  ", .cyan, isBold: true)
    strip.add(glyphs.fit(glyphs.clean(item.id), to: id), isBold: isSelected)
    strip.add(" ")
    if key > 0 { strip.add(glyphs.fit(glyphs.clean(item.key), to: key) + " ", .faint) }
    let word = isNarrow ? Brief.state(item.state) : item.state.rawValue
    strip.add(glyphs.fit(word, to: state) + " ", item.state.colour)
    if item.state == .running, item.words.isEmpty {
      strip.add(progress(of: item))
    } else {
      let words = glyphs.fit(glyphs.clean(item.words), to: middle)
      strip.add(words, item.state == .queued ? .faint : item.state.colour)
    }
    if attempts > 0 { strip.add(" " + glyphs.fit("\(item.attempts)", to: attempts, isRight: true)) }
    return strip
  }

  private func texts(
    id idText: String, key keyText: String, state stateText: String, attempts attemptsText: String
  ) -> (front: String, back: String) {
    let front =
      [(idText, id), (keyText, key), (stateText, state)].filter { $0.1 > 0 }
      .map { glyphs.fit($0.0, to: $0.1) + " " }.joined()
    return (front, attempts > 0 ? " " + glyphs.fit(attemptsText, to: attempts, isRight: true) : "")
  }
}
