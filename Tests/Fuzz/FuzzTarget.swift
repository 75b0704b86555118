/// Something that is fed any bytes. It keeps what it needs from one input to the next, and is used by one
/// thread at a time.
protocol FuzzTarget: AnyObject {
  init() throws

  /// - Throws: `Broken` when a promise did not hold; a trap of the product ends the process.
  func run(_ input: [UInt8]) throws
}

/// Every target by the name of its corpus.
enum FuzzTargets {
  static var all: [(name: String, type: any FuzzTarget.Type)] {
    [
      ("frames", FrameTarget.self), ("json", JSONTarget.self), ("descriptors", DescriptorTarget.self),
      ("dates", DateTarget.self), ("multipart", MultipartTarget.self), ("answers", AnswerTarget.self),
      ("rows", RowTarget.self),
    ]
  }

  static func make(_ name: String) throws -> any FuzzTarget {
    guard let found = all.first(where: { $0.name == name }) else {
      throw Broken("no target is called \(name); there are \(all.map(\.name).joined(separator: ", "))")
    }
    return try found.type.init()
  }
}

/// A promise that did not hold.
struct Broken: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

func require(_ holds: Bool, _ promise: @autoclosure () -> String) throws {
  if !holds { throw Broken(promise()) }
}
