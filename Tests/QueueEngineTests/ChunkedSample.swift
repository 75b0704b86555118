import Foundation
import QueueEngine
import QueueModel
import Testing

extension Sample {
  /// A PUT of the file in parts of these sizes to http://h.test/0, /1 and so on.
  static func parts(_ path: String, _ sizes: [Int], _ more: String = "", host: String = "h") -> String {
    var start = 0
    let parts = sizes.enumerated().map { index, size in
      defer { start += size }
      return #"{"url":"http://\#(host).test/\#(index)","range":{"start":\#(start),"end":\#(start + size)}}"#
    }
    let list = parts.joined(separator: ",")
    return #"{"method":"PUT","file":"\#(path)","parts":[\#(list)]\#(more.isEmpty ? "" : "," + more)}"#
  }
}

extension Harness {
  /// A file of as many bytes as the sizes add up to.
  func source(_ name: String = "source", sizes: [Int]) throws -> String {
    try source(name, String(repeating: "x", count: sizes.reduce(0, +)))
  }

  @discardableResult
  func enqueueParts(
    _ id: String = "a", key: String = "k", _ sizes: [Int], _ more: String = "", name: String = "source"
  ) throws -> EnqueueAnswer {
    try enqueue(id, key: key, Sample.parts(try source(name, sizes: sizes), sizes, more))
  }

  /// Indexes of the parts in flight, in order of entries and parts.
  var flying: [Int] { transport.running.compactMap(\.attempt.part) }

  /// What comes of the part in flight with this index.
  func finish(part: Int, _ result: AttemptResult) throws {
    let found = try #require(transport.running.first { $0.attempt.part == part })
    transport.finish(found.attempt, result)
    settle()
  }

  func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}
