/// One request as the receiver got it.
final class Received {
  /// Bodies up to this size are kept, so that they can be looked into.
  static let maxKept = 2 << 20

  let head: RequestHead
  /// Bytes of the body that came.
  private(set) var count = 0
  /// The whole body; nil when it is longer than is kept.
  private(set) var body: [UInt8]?
  /// The status that it was answered with; nil while it was not answered.
  var status: Int?
  private var hash = SHA256()

  init(_ head: RequestHead) {
    self.head = head
    body = head.length <= Received.maxKept ? [] : nil
  }

  func take(_ bytes: ArraySlice<UInt8>) {
    count += bytes.count
    bytes.withUnsafeBytes { hash.update($0) }
    body?.append(contentsOf: bytes)
  }

  /// SHA-256 of the bytes that came, hex.
  var sha256: String { hash.hex }
}
