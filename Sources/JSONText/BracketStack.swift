/// The open brackets of a text, one bit each, so that ten million of them take a megabyte and no stack.
struct BracketStack {
  private(set) var depth = 0

  private var full: [UInt64] = []
  private var top: UInt64 = 0

  /// Whether the innermost open bracket is an object's.
  var isObject: Bool { top & 1 == 1 }

  mutating func push(_ isObject: Bool) {
    if depth & 63 == 0, depth > 0 { full.append(top) }
    top = top << 1 | (isObject ? 1 : 0)
    depth += 1
  }

  mutating func pop() {
    depth -= 1
    top >>= 1
    if depth & 63 == 0, let word = full.popLast() { top = word }
  }
}
