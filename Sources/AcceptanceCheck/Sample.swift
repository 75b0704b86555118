import Glibc

/// A file of known size and SHA-256, the same on every machine.
struct Sample {
  let path: String
  let size: Int
  let sha256: String

  /// Writes a new file. `seed` makes samples of one check differ.
  init(at path: String, size: Int, seed: UInt64) throws(Setback) {
    let bytes = Sample.bytes(size, seed: seed)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    var written = 0
    while file >= 0 && written < size {
      let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + written, size - written) }
      guard count > 0 else { break }
      written += count
    }
    let isWritten = file >= 0 && written == size
    let reason = String(cString: strerror(errno))
    if file >= 0 { close(file) }
    guard isWritten else { throw .unmet("\(path): \(reason)") }
    self.path = path
    self.size = size
    sha256 = SHA256.hex(of: bytes)
  }

  /// SplitMix64: looks random, so that no layer below can shorten it.
  static func bytes(_ size: Int, seed: UInt64) -> [UInt8] {
    var state = seed
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + 8)
    while bytes.count < size {
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      word ^= word >> 31
      withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }
    bytes.removeLast(bytes.count - size)
    return bytes
  }
}
