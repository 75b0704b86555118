/// Cuts the bytes of one connection into requests, wherever its chunks begin and end.
struct RequestReader {
  enum Piece: Equatable {
    case head(RequestHead)
    /// Some bytes of the body of the last head.
    case body(ArraySlice<UInt8>)
    /// The request is whole.
    case end
    /// What came is no request that is served, and nothing that follows can be read.
    case refused(status: Int)
  }

  static let maxHead = 64 << 10

  private let maxBody: Int
  /// The begin of a head whose blank line has not come yet.
  private var head: [UInt8] = []
  /// Bytes of a body that are still to come; nil between requests.
  private var missing: Int?
  private var isRefused = false

  init(maxBody: Int) { self.maxBody = maxBody }

  mutating func feed(_ bytes: [UInt8], _ emit: (Piece) -> Void) {
    var rest = bytes[...]
    while !rest.isEmpty && !isRefused {
      if let missing {
        let part = rest.prefix(missing)
        rest = rest.dropFirst(part.count)
        self.missing = missing - part.count
        emit(.body(part))
        endIfWhole(emit)
      } else {
        readHead(&rest, emit)
      }
    }
  }

  private mutating func readHead(_ rest: inout ArraySlice<UInt8>, _ emit: (Piece) -> Void) {
    while let byte = rest.popFirst() {
      head.append(byte)
      if byte == 0x0A, head.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] { return take(emit) }
      if head.count == RequestReader.maxHead { return refuse(431, emit) }
    }
  }

  private mutating func take(_ emit: (Piece) -> Void) {
    do throws(RequestHead.Refused) {
      let read = try RequestHead(head.dropLast(4), maxBody: maxBody)
      head = []
      missing = read.length
      emit(.head(read))
      endIfWhole(emit)
    } catch {
      refuse(error.status, emit)
    }
  }

  private mutating func endIfWhole(_ emit: (Piece) -> Void) {
    guard missing == 0 else { return }
    missing = nil
    emit(.end)
  }

  private mutating func refuse(_ status: Int, _ emit: (Piece) -> Void) {
    isRefused = true
    emit(.refused(status: status))
  }
}
