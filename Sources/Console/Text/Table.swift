/// Rows under titles, in columns that fit a width.
package struct Table: Sendable {
  package struct Column: Sendable {
    let title: String
    /// Text stands left, numbers right.
    var isNumber = false
    /// Gives up room where the whole is too wide.
    var isFlexible = false

    package init(_ title: String, isNumber: Bool = false, isFlexible: Bool = false) {
      self.title = title
      self.isNumber = isNumber
      self.isFlexible = isFlexible
    }
  }

  /// A cell; `colour` is of the text, not of the room around it.
  package struct Cell: Sendable {
    let text: String
    var colour: Colour?

    package init(_ text: String, _ colour: Colour? = nil) {
      self.text = text
      self.colour = colour
    }
  }

  private let columns: [Column]
  private let widths: [Int]
  private let isColoured: Bool
  private let isCut: Bool
  private static let gap = 2
  private static let least = 6

  /// Lays out columns for `rows`; later rows keep to them. `width` nil gives each the room that it needs.
  package init(_ columns: [Column], for rows: [[Cell]], width: Int?, isColoured: Bool = false) {
    self.columns = columns
    self.isColoured = isColoured
    var widths = columns.enumerated().map { position, column in
      rows.reduce(column.title.count) { max($0, Printable.width($1[position].text)) }
    }
    if let width { Table.fit(&widths, columns, to: width) }
    self.widths = widths
    isCut = width != nil
  }

  /// The widest flexible column gives way first.
  private static func fit(_ widths: inout [Int], _ columns: [Column], to width: Int) {
    while widths.reduce((columns.count - 1) * gap, +) > width {
      let flexible = columns.indices.filter { columns[$0].isFlexible && widths[$0] > least }
      guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { return }
      widths[widest] -= 1
    }
  }

  package var head: String { line(columns.map { Cell($0.title, .faint) }) }

  package func line(_ cells: [Cell]) -> String {
    var line = ""
    for (position, cell) in cells.enumerated() {
      let text = isCut ? Printable.cut(cell.text, to: widths[position]) : cell.text
      let room = String(repeating: " ", count: max(0, widths[position] - Printable.width(text)))
      let shown = isColoured ? Colour.paint(text, cell.colour) : text
      let isLast = position == cells.count - 1
      line += columns[position].isNumber ? room + shown : shown + (isLast ? "" : room)
      if !isLast { line += String(repeating: " ", count: Table.gap) }
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}

/// What stands out in a terminal.
package enum Colour: String, Sendable {
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "36"
  case faint = "2"

  package static func paint(_ text: String, _ colour: Colour?) -> String {
    colour.map { "\u{1B}[\($0.rawValue)m\(text)\u{1B}[0m" } ?? text
  }
}
