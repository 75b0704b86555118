import Glibc

// What libFuzzer calls. FUZZ_TARGET names the target.

nonisolated(unsafe) private var target: (any FuzzTarget)?

/// Called once, before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func begin(
  _: UnsafeMutablePointer<CInt>, _: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
  do {
    target = try FuzzTargets.make(getenv("FUZZ_TARGET").map { String(cString: $0) } ?? "")
  } catch {
    tell("\(error)")
    exit(64)
  }
  return 0
}

/// Called with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func feed(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do {
    try target?.run(Array(UnsafeBufferPointer(start: start, count: count)))
  } catch {
    tell("BROKEN: \(error)")
    // libFuzzer takes it for a crash and keeps the input.
    abort()
  }
  return 0
}

private func tell(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
