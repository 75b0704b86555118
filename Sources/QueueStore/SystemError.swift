import Glibc

/// Failures of system calls.
enum SystemError {
  /// The system's words for `number`.
  static func text(_ number: Int32) -> String {
    String(cString: strerror(number))
  }

  /// Calls again as long as a signal interrupts the call. The number of the failure, or nil.
  static func of(_ call: () -> Int32) -> Int32? {
    while call() == -1 {
      let number = errno
      if number != EINTR { return number }
    }
    return nil
  }

  /// The result of a call that returns something of use, called again as long as a signal interrupts it.
  static func retry<Value: SignedInteger>(_ call: () -> Value) -> Result<Value, SystemFailure> {
    while true {
      let result = call()
      if result != -1 { return .success(result) }
      let number = errno
      if number != EINTR { return .failure(SystemFailure(number: number)) }
    }
  }
}

/// The number of a failed system call.
struct SystemFailure: Error {
  let number: Int32
}
