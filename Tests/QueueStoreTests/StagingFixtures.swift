import Foundation
import QueueModel
import Testing

@testable import QueueStore

func filePath(_ text: String) -> FilePath { FilePath(bytes: Array(text.utf8)) }

func formField(_ path: FilePath) -> FormField {
  FormField(name: "f", contentType: "t/t", content: .path(path, fileName: nil))
}

func stage(_ store: QueueStore, _ body: BodyDescription) throws(StageError) -> Staged {
  try store.stager.stage(
    body, staging: .copy, randomness: SeededRandomness(UInt64.random(in: 0...UInt64.max)))
}

/// The staged bytes, wherever they are.
func bytes(of staged: Staged, in queue: String) throws -> [UInt8] {
  if let bytes = staged.rowBytes { return bytes }
  guard case .file(let name) = staged.body.place else { return [] }
  let folder = try #require(names(in: queue).first { $0.hasPrefix("bodies-") })
  return try bytes(of: "\(queue)/\(folder)/\(name)")
}

func noise(_ count: Int) -> [UInt8] {
  let random = SeededRandomness(UInt64(count))
  return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() as UInt64) }
}
