import CLinux

/// Text of others, for people to read.
package enum Printable {
  /// Whatever could move the cursor, change colours, hide or turn round what stands beside it is written as
  /// its number, like `\u{1b}`.
  package static func text(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      if isHarmless(scalar) {
        shown.unicodeScalars.append(scalar)
      } else {
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return shown
  }

  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }

  /// Columns that harmless text takes in a terminal.
  package static func width(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + width($1) }
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    scalar.isASCII ? 1 : max(0, Int(clinux_width(scalar.value)))
  }

  /// At most so many columns of it; what is left out shows as an ellipsis.
  package static func cut(_ text: String, to columns: Int) -> String {
    width(text) > columns ? beginning(of: text, columns - 1) + "…" : text
  }

  /// Its first characters, as many as there are columns for.
  static func beginning(of text: String, _ columns: Int) -> String {
    var kept = ""
    var used = 0
    for character in text {
      used += width(String(character))
      if used > columns { break }
      kept.append(character)
    }
    return kept
  }
}
