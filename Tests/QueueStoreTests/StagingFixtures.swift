import Foundation
import Glibc
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
  // Words in a plain loop: millions of bytes one by one take minutes without optimization and under a
  // sanitizer.
  return [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
    while filled < count {
      var word: UInt64 = random.next()
      let length = min(MemoryLayout.size(ofValue: word), count - filled)
      memcpy(bytes.baseAddress! + filled, &word, length)
      filled += length
    }
  }
}

/// Runs `work` on a thread that may do no more than the modes of files say, also when the tests run as root.
func asNobody<Value>(_ work: @escaping () throws -> Value) throws -> Value {
  nonisolated(unsafe) var result: Result<Value, any Error>?
  nonisolated(unsafe) let work = work
  let done = DispatchSemaphore(value: 0)
  Thread {
    // Linux has one of these for each thread; Swift's view of the C library lacks its name.
    if geteuid() == 0, let symbol = dlsym(nil, "setfsuid") {
      _ = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)(65_534)
    }
    result = Result { try work() }
    done.signal()
  }.start()
  done.wait()
  return try #require(result).get()
}
