import QueueModel

/// What a start has to say of a database that was not as it should be (D37).
extension Diagnostic {
  static func setAside(_ name: String, _ error: StoreError, at wall: Int64) -> Diagnostic {
    Diagnostic(
      at: wall, level: .error,
      message:
        "the database was damaged and is now \(name); the queue begins empty, its bodies are left alone",
      error: error.message)
  }

  static func lonelyLog(_ name: String, at wall: Int64) -> Diagnostic {
    Diagnostic(
      at: wall, level: .error,
      message:
        "the database was missing or empty beside its log, which is now \(name); the queue begins empty, its "
        + "bodies are left alone")
  }

  /// Damage that was met before and is not there any more.
  static func passedDamage(_ error: String, at wall: Int64) -> Diagnostic {
    Diagnostic(
      at: wall, level: .warn, message: "the database seemed damaged and is whole; the queue goes on",
      error: error)
  }
}
