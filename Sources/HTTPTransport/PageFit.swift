/// How much to read from a file at once so that the kernel copies it fast.
enum PageFit {
  /// Below this a further read would cost more than the copy gains, bytes.
  private static let least = 64 << 10
  private static let page = 4096

  /// The part of `count` bytes after which file and memory lie alike in their pages: the next read, to the
  /// same place, is then copied about twice as fast. Where memory lies a few bytes further into its page than
  /// the file, as behind malloc's 16 bytes, each load seems to need the store just before it, since the last
  /// 12 bits of their addresses are the same.
  static func part(
    of count: Int, isLast: Bool, at offset: Int64, into place: UnsafeMutableRawBufferPointer
  ) -> Int {
    guard !isLast, count >= least, let address = place.baseAddress else { return count }
    return count - (Int(truncatingIfNeeded: offset) + count - Int(bitPattern: address)) & (page - 1)
  }
}
