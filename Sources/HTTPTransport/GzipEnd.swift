/// Whether a gzip answer was unpacked to its end. libcurl 7.88 does not ask: a stream that stops early inside
/// sound framing looks whole to it (D12). The last four bytes of a gzip file are the length of what it holds,
/// modulo 2^32 (RFC 1952, section 2.3.1).
struct GzipEnd {
  /// The last bytes as they came, framing taken off, the newest in the lowest place.
  private var tail: UInt32 = 0
  private var count = 0
  private var chunks: ChunkFraming?

  /// - Parameter isChunked: The bytes come in HTTP/1.1's chunks (RFC 9112, section 7.1).
  init(isChunked: Bool) {
    chunks = isChunked ? ChunkFraming() : nil
  }

  /// Takes bytes of the answer's body as they came.
  mutating func take(_ bytes: UnsafeRawBufferPointer) {
    guard chunks != nil else { return add(bytes) }
    var rest = bytes[...]
    while let data = chunks?.nextData(of: &rest) { add(UnsafeRawBufferPointer(rebasing: data)) }
  }

  /// True unless what came says that it holds another number of bytes than were unpacked.
  func isReached(unpacked: Int) -> Bool {
    count == 0 || (count >= 4 && UInt32(truncatingIfNeeded: unpacked) == tail.byteSwapped)
  }

  private mutating func add(_ bytes: UnsafeRawBufferPointer) {
    count += bytes.count
    for byte in bytes.suffix(4) { tail = tail << 8 | UInt32(byte) }
  }
}

/// Takes the chunks of HTTP/1.1 apart; that they are well-formed is libcurl's to see.
private struct ChunkFraming {
  fileprivate enum Place {
    /// Behind a chunk, before the digits of the next size.
    case between
    case size(UInt64)
    /// Behind the digits, before the line end.
    case extras(size: UInt64)
    case data(left: UInt64)
    case end
  }

  private var place = Place.between

  /// The next bytes of data, which it takes off `rest`; nil when there are none in it.
  mutating func nextData(of rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
    while let byte = rest.first {
      if case .data(let left) = place {
        let data = rest.prefix(Int(clamping: left))
        rest = rest.dropFirst(data.count)
        let still = left - UInt64(data.count)
        place = still == 0 ? .between : .data(left: still)
        return data
      }
      rest = rest.dropFirst()
      place = place.after(byte)
    }
    return nil
  }
}

extension ChunkFraming.Place {
  fileprivate func after(_ byte: UInt8) -> Self {
    let digit = Character(UnicodeScalar(byte)).hexDigitValue.map { UInt64($0) }
    let isLineEnd = byte == 0x0A
    switch self {
    case .between: return digit.map { .size($0) } ?? .between
    case .size(let size):
      if let digit { return .size(size << 4 | digit) }
      return isLineEnd ? .behindLine(size) : .extras(size: size)
    case .extras(let size): return isLineEnd ? .behindLine(size) : self
    case .data, .end: return self
    }
  }

  private static func behindLine(_ size: UInt64) -> Self {
    size == 0 ? .end : .data(left: size)
  }
}
