/// An input read as a row of decisions; beyond its end every one is 0.
struct Choices {
  private let input: [UInt8]
  private var at = 0

  init(_ input: [UInt8]) { self.input = input }

  var isAtEnd: Bool { at >= input.count }

  mutating func byte() -> UInt8 {
    guard at < input.count else { return 0 }
    defer { at += 1 }
    return input[at]
  }

  mutating func bool() -> Bool { byte() & 1 == 1 }

  /// 0 to `bound` - 1; `bound` is at most 256.
  mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

  mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }

  /// At most `count` bytes, fewer at the end.
  mutating func bytes(_ count: Int) -> [UInt8] {
    let end = min(at + count, input.count)
    defer { at = end }
    return Array(input[at..<end])
  }

  /// Some bytes, with their number before them.
  mutating func run() -> [UInt8] { bytes(Int(byte())) }

  mutating func text() -> String { String(decoding: run(), as: UTF8.self) }

  mutating func int64() -> Int64 {
    Int64(bitPattern: (0..<8).reduce(into: 0 as UInt64) { bits, _ in bits = bits << 8 | UInt64(byte()) })
  }

  mutating func rest() -> [UInt8] { bytes(input.count - at) }
}
