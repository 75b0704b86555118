import CLinux
import Glibc

/// A lock that keeps the machine awake as long as its descriptor is open.
enum Inhibitor {
  struct Fault: Error, Equatable {
    let reason: String
  }

  /// Waits for the bus, some seconds at most.
  static func acquire() throws(Fault) -> Int32 {
    var fault = [CChar](repeating: 0, count: 512)
    let lock = clinux_keep_awake("outtray", "requests are being sent", 5_000_000, &fault, fault.count)
    guard lock >= 0 else {
      let text = fault.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw Fault(reason: String(decoding: text, as: UTF8.self))
    }
    return lock
  }
}
