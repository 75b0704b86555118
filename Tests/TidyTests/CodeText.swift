/// Swift text with the inside of comments and strings blanked out, so that braces and words in it are code.
/// Line ends stay where they are.
struct CodeText {
  private(set) var characters: [Character] = []

  init(_ text: String) {
    var rest = Array(text)[...]
    while let first = rest.first {
      if rest.starts(with: "//") {
        blank(&rest, while: { $0.first != "\n" })
      } else if rest.starts(with: "/*") {
        blankComment(&rest)
      } else if let hashes = Self.openingHashes(rest) {
        blankString(&rest, hashes: hashes)
      } else {
        characters.append(first)
        rest.removeFirst()
      }
    }
  }

  /// The lines of the blanked text.
  var lines: [Substring] { String(characters).split(separator: "\n", omittingEmptySubsequences: false) }

  /// How many `#` stand before the quote that begins a string here; nil when none begins.
  private static func openingHashes(_ rest: ArraySlice<Character>) -> Int? {
    let hashes = rest.prefix { $0 == "#" }.count
    return rest.dropFirst(hashes).first == "\"" ? hashes : nil
  }

  private mutating func take(_ rest: inout ArraySlice<Character>) {
    characters.append(rest.removeFirst() == "\n" ? "\n" : " ")
  }

  private mutating func blank(
    _ rest: inout ArraySlice<Character>, while isInside: (ArraySlice<Character>) -> Bool
  ) {
    while !rest.isEmpty, isInside(rest) { take(&rest) }
  }

  private mutating func blankComment(_ rest: inout ArraySlice<Character>) {
    var depth = 0
    repeat {
      let opens = rest.starts(with: "/*")
      let closes = rest.starts(with: "*/")
      if opens { depth += 1 }
      if closes { depth -= 1 }
      take(&rest)
      if opens || closes { take(&rest) }
    } while depth > 0 && !rest.isEmpty
  }

  private mutating func blankString(_ rest: inout ArraySlice<Character>, hashes: Int) {
    for _ in 0..<hashes { take(&rest) }
    let quote = rest.starts(with: "\"\"\"") ? "\"\"\"" : "\""
    let end = quote + String(repeating: "#", count: hashes)
    let escape = "\\" + String(repeating: "#", count: hashes)
    for _ in quote { take(&rest) }
    while !rest.isEmpty, !rest.starts(with: end) {
      guard rest.starts(with: escape) else {
        take(&rest)
        continue
      }
      for _ in escape { take(&rest) }
      if rest.first == "(" { blankInterpolation(&rest) } else if !rest.isEmpty { take(&rest) }
    }
    for _ in end where !rest.isEmpty { take(&rest) }
  }

  /// Strings stand inside an interpolation too, with parentheses of their own.
  private mutating func blankInterpolation(_ rest: inout ArraySlice<Character>) {
    var depth = 0
    repeat {
      if let hashes = Self.openingHashes(rest) {
        blankString(&rest, hashes: hashes)
        continue
      }
      if rest.first == "(" { depth += 1 }
      if rest.first == ")" { depth -= 1 }
      take(&rest)
    } while depth > 0 && !rest.isEmpty
  }
}
