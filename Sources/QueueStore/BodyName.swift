import QueueModel

/// The names of body files. They hold nothing of an entry (D10), and say which files clean-up may take (D37).
enum BodyName {
  private static let copied = "body-"

  /// Of a copy, or of bytes that the store wrote: whoever enqueued it still has them until a row names it.
  static func ofCopy(_ randomness: any Randomness) -> String { copied + randomness.uuid() }

  /// Of a file that its owner gave away: it may be the only one, so clean-up never takes it.
  static func ofMove(_ randomness: any Randomness) -> String { "moved-" + randomness.uuid() }

  /// Whether `ofCopy` gives such a name: a version 4 UUID behind the prefix, in lower case.
  static func isCopy(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    guard name.hasPrefix(copied), bytes.count == copied.utf8.count + 36 else { return false }
    return bytes.dropFirst(copied.utf8.count).enumerated().allSatisfy { index, byte in
      switch index {
      case 8, 13, 18, 23: byte == UInt8(ascii: "-")
      default:
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
    }
  }
}
