import Glibc

/// The characters that a terminal can show.
enum Glyphs: Sendable {
  case utf8
  /// All others are written as their number: in another character set a byte of theirs may be a control.
  case ascii

  /// As the locale in the environment says.
  init(_ variable: (String) -> String?) {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
    // language_TERRITORY.codeset@modifier
    let parts = named.lowercased().filter { $0 != "-" }.split { $0 == "." || $0 == "@" }
    self = parts.contains("utf8") ? .utf8 : .ascii
  }

  /// Text of others, made harmless.
  func clean(_ text: String) -> String {
    let harmless = Printable.text(text)
    if self == .utf8 || harmless.utf8.allSatisfy({ $0 < 0x80 }) { return harmless }
    return harmless.unicodeScalars.reduce(into: "") { shown, scalar in
      shown += scalar.isASCII ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  var ellipsis: String { self == .utf8 ? "…" : "~" }
  var dot: String { self == .utf8 ? " · " : " | " }
  var marker: String { self == .utf8 ? "▸ " : "> " }
  var arrows: String { self == .utf8 ? "↑↓" : "j k" }

  // MARK: Columns

  /// At most so many columns of clean text, from its beginning.
  func cut(_ text: String, to columns: Int) -> String {
    guard Printable.width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    return Printable.beginning(of: text, columns - 1) + ellipsis
  }

  /// The same, from its end.
  func cutBeginning(of text: String, to columns: Int) -> String {
    guard Printable.width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    return ellipsis + String(Printable.beginning(of: String(text.reversed()), columns - 1).reversed())
  }

  /// Exactly so many columns.
  func fit(_ text: String, to columns: Int, isRight: Bool = false) -> String {
    let shown = cut(text, to: columns)
    let room = String(repeating: " ", count: max(0, columns - Printable.width(shown)))
    return isRight ? room + shown : shown + room
  }

  // MARK: Bars

  /// The full and the empty end of a bar. Only the whole fills it.
  func bar(_ part: Int64, of whole: Int64, columns: Int) -> (full: String, empty: String) {
    guard columns > 0 else { return ("", "") }
    let fraction = whole > 0 ? min(1, max(0, Double(part) / Double(whole))) : 0
    let steps = self == .utf8 ? 8 : 1
    let filled = Int((fraction * Double(columns * steps)).rounded(.down))
    let (cells, rest) = filled.quotientAndRemainder(dividingBy: steps)
    let full = String(repeating: self == .utf8 ? "█" : "#", count: cells)
    let end = rest > 0 ? Glyphs.eighths[rest - 1] : ""
    let left = columns - cells - (rest > 0 ? 1 : 0)
    return (full + end, String(repeating: self == .utf8 ? "░" : "-", count: left))
  }

  private static let eighths = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
}
