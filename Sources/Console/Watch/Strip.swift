/// One line of the screen, in pieces of one colour each.
struct Strip: Sendable, Equatable {
  private(set) var pieces: [Piece] = []

  struct Piece: Sendable, Equatable {
    var text: String
    var colour: Colour?
    var isBold = false
  }

  init() {}

  init(_ text: String, _ colour: Colour? = nil, isBold: Bool = false) {
    add(text, colour, isBold: isBold)
  }

  /// Adds clean text.
  mutating func add(_ text: String, _ colour: Colour? = nil, isBold: Bool = false) {
    if !text.isEmpty { pieces.append(Piece(text: text, colour: colour, isBold: isBold)) }
  }

  mutating func add(_ strip: Strip) { pieces += strip.pieces }

  /// Spaces up to a column.
  mutating func fill(to columns: Int) { add(String(repeating: " ", count: max(0, columns - width))) }

  var width: Int { pieces.reduce(0) { $0 + Printable.width($1.text) } }

  var text: String { pieces.map(\.text).joined() }

  /// What is left of it in so many columns.
  func cut(to columns: Int, _ glyphs: Glyphs) -> Strip {
    guard width > columns else { return self }
    var kept = Strip()
    for piece in pieces {
      let room = columns - kept.width
      // Its end shows that something is missing, also where it would just fit.
      let isLast = Printable.width(piece.text) >= room
      let text = isLast ? glyphs.cut(piece.text + " ", to: room) : piece.text
      kept.add(text, piece.colour, isBold: piece.isBold)
      if isLast { break }
    }
    return kept
  }

  /// For a terminal.
  func drawn(isColoured: Bool) -> String {
    guard isColoured else { return text }
    return pieces.map { piece in
      let codes = (piece.isBold ? ["1"] : []) + (piece.colour.map { [$0.rawValue] } ?? [])
      return codes.isEmpty ? piece.text : "\u{1B}[\(codes.joined(separator: ";"))m\(piece.text)\u{1B}[0m"
    }.joined()
  }
}
