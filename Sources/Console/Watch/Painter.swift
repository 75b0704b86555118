/// What has to be written so that a terminal shows a picture: the lines that changed.
struct Painter {
  private let isColoured: Bool
  private var shown: [String] = []
  private var columns = 0

  init(isColoured: Bool) { self.isColoured = isColoured }

  /// Nothing is known of what the terminal shows.
  mutating func forget() { shown = [] }

  mutating func paint(_ picture: Picture, columns: Int) -> String {
    let lines = picture.strips.map { $0.drawn(isColoured: isColoured) }
    let isAnew = lines.count != shown.count || columns != self.columns
    var changes = 0
    var text = isAnew ? Painter.clear : ""
    for (row, line) in lines.enumerated() where isAnew ? !line.isEmpty : line != shown[row] {
      text += "\u{1B}[\(row + 1);1H\(line)"
      // In a full line the cursor stands on the last column, which this would wipe out.
      if !isAnew, picture.strips[row].width < columns { text += Painter.clearRest }
      changes += 1
    }
    (shown, self.columns) = (lines, columns)
    // One line arrives at once anyway.
    return isAnew || changes > 1 ? Painter.begin + text + Painter.end : text
  }

  private static let clear = "\u{1B}[0m\u{1B}[2J"
  private static let clearRest = "\u{1B}[K"
  /// Terminals that know synchronised updates show all of it at once; others ignore these.
  private static let begin = "\u{1B}[?2026h"
  private static let end = "\u{1B}[?2026l"
}
