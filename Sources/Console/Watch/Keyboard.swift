/// A key that was typed.
enum Key: Hashable, Sendable {
  case up, down, pageUp, pageDown, home, end, escape
  case letter(Character)
  /// With the control key held.
  case control(Character)
  case unknown
}

/// Makes keys from the bytes that a terminal sends for them.
struct Keyboard {
  /// An escape and what has come behind it.
  private var rest: [UInt8] = []

  /// More may belong to an escape that came; if nothing comes soon it was that key.
  var isInside: Bool { !rest.isEmpty }

  mutating func feed(_ bytes: [UInt8]) -> [Key] {
    var keys: [Key] = []
    for byte in bytes {
      if rest.isEmpty, byte != Keyboard.escape {
        if let key = Keyboard.plain(byte) { keys.append(key) }
        continue
      }
      if byte == Keyboard.escape, !rest.isEmpty { keys.append(.escape) }
      if byte == Keyboard.escape { rest = [] }
      rest.append(byte)
      guard let key = Keyboard.sequence(rest) else { continue }
      keys.append(key)
      rest = []
    }
    return keys
  }

  /// Nothing has come for a while.
  mutating func flush() -> [Key] {
    defer { rest = [] }
    return rest.isEmpty ? [] : [.escape]
  }

  private static let escape: UInt8 = 0x1B

  /// nil for bytes inside a character that is none of ours.
  private static func plain(_ byte: UInt8) -> Key? {
    switch byte {
    case 0x00...0x1A: .control(Character(Unicode.Scalar(byte + 0x60)))
    case 0x1C...0x1F: .control(Character(Unicode.Scalar(byte + 0x40)))
    case 0x20...0x7E: .letter(Character(Unicode.Scalar(byte)))
    case 0xC0...0xFF: .unknown
    default: nil
    }
  }

  /// nil while more belongs to it.
  private static func sequence(_ bytes: [UInt8]) -> Key? {
    guard bytes.count >= 2, let last = bytes.last else { return nil }
    guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else { return .unknown }
    guard bytes.count >= 3 else { return nil }
    guard (0x40...0x7E).contains(last) else { return bytes.count > 32 ? .unknown : nil }
    switch last {
    case UInt8(ascii: "A"): return .up
    case UInt8(ascii: "B"): return .down
    case UInt8(ascii: "H"): return .home
    case UInt8(ascii: "F"): return .end
    case UInt8(ascii: "~"):
      switch bytes[2..<(bytes.count - 1)] {
      case [UInt8(ascii: "1")], [UInt8(ascii: "7")]: return .home
      case [UInt8(ascii: "4")], [UInt8(ascii: "8")]: return .end
      case [UInt8(ascii: "5")]: return .pageUp
      case [UInt8(ascii: "6")]: return .pageDown
      default: return .unknown
      }
    default: return .unknown
    }
  }
}

/// What a key asks for.
enum Wish: Equatable, Sendable {
  case move(Int), page(Int), first, last
  case pauseKey, resumeKey, pauseQueue, resumeQueue
  case askToCancel, cancel, retry
  case sort, filter, help, goBack
  case redraw, suspend, interrupt, quit

  /// nil for a key that means nothing there.
  init?(_ key: Key, in mode: Scene.Mode) {
    switch key {
    case .control("c"): self = .interrupt
    case .control("z"): self = .suspend
    case .control("l"): self = .redraw
    default:
      switch mode {
      case .help: self = key == .letter("q") ? .quit : .goBack
      case .asking: self = key == .letter("y") ? .cancel : .goBack
      case .rows:
        guard let wish = Wish.table[key] else { return nil }
        self = wish
      }
    }
  }

  private static let table: [Key: Wish] = [
    .up: .move(-1), .letter("k"): .move(-1), .control("p"): .move(-1),
    .down: .move(1), .letter("j"): .move(1), .control("n"): .move(1),
    .pageUp: .page(-1), .control("b"): .page(-1),
    .pageDown: .page(1), .control("f"): .page(1), .letter(" "): .page(1),
    .home: .first, .letter("g"): .first, .end: .last, .letter("G"): .last,
    .letter("p"): .pauseKey, .letter("r"): .resumeKey,
    .letter("P"): .pauseQueue, .letter("R"): .resumeQueue,
    .letter("c"): .askToCancel, .letter("t"): .retry, .letter("s"): .sort, .letter("f"): .filter,
    .letter("?"): .help, .letter("h"): .help, .letter("q"): .quit,
  ]
}
