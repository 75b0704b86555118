import Glibc

/// Splits a stream of bytes into lines, wherever its chunks begin and end (protocol.md section 1).
///
/// A line ends at byte 0x0A and nowhere else; one CR before that belongs to the line end. Blank lines are
/// skipped, and so is a byte order mark at the very start of the stream. Every byte is searched once, and
/// at most `maxLine` bytes and a few are held back, whatever the stream brings.
package struct FrameReader: Sendable {
  /// The most bytes of a line, without its line end.
  package let maxLine: Int

  /// How many bytes were searched for a line end, since the start.
  package private(set) var bytesSearched = 0

  /// How many bytes are held back for a line whose end has not come yet.
  package var bytesHeld: Int { pending.count }

  /// The begin of a line whose end has not come yet.
  private var pending: [UInt8] = []

  /// Whether the current line was too long: the rest of it is dropped.
  private var isDiscarding = false

  private var isFirstLine = true

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  package init(maxLine: Int) { self.maxLine = maxLine }

  /// Hands the frames that `bytes` complete to `emit`, in order; a line that is too long is told as soon as
  /// it is.
  package mutating func feed(_ bytes: UnsafeRawBufferPointer, _ emit: (Frame) -> Void) {
    guard let base = bytes.baseAddress else { return }
    var begin = 0
    while begin < bytes.count {
      let found = memchr(base + begin, 0x0A, bytes.count - begin)
      let end = found.map { UnsafeRawPointer($0) - base } ?? bytes.count
      bytesSearched += min(end + 1, bytes.count) - begin
      append(UnsafeRawBufferPointer(rebasing: bytes[begin..<end]), emit)
      if found != nil { endLine(emit) }
      begin = end + 1
    }
  }

  package mutating func feed(_ bytes: [UInt8], _ emit: (Frame) -> Void) {
    bytes.withUnsafeBytes { feed($0, emit) }
  }

  /// The stream has ended: what came after the last line end is a line too.
  package mutating func finish(_ emit: (Frame) -> Void) { endLine(emit) }

  private mutating func append(_ part: UnsafeRawBufferPointer, _ emit: (Frame) -> Void) {
    if isDiscarding { return }
    // What is not counted, a CR and the mark, may be among these bytes; the end of the line decides exactly.
    if part.count > maxLine + Self.byteOrderMark.count + 1 - pending.count {
      isDiscarding = true
      pending = []
      emit(.tooLong)
    } else {
      pending.append(contentsOf: part)
    }
  }

  private mutating func endLine(_ emit: (Frame) -> Void) {
    var line = pending
    pending = []
    if isFirstLine, line.starts(with: Self.byteOrderMark) { line.removeFirst(Self.byteOrderMark.count) }
    isFirstLine = false
    if isDiscarding {
      isDiscarding = false
      return
    }
    if line.last == 0x0D { line.removeLast() }
    if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
    emit(line.count > maxLine ? .tooLong : .line(line))
  }
}
