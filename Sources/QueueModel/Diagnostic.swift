package import JSONText

/// A persisted record for whoever runs the product: what went wrong, or how a start found the queue. Never
/// holds a secret (D38).
package struct Diagnostic: Sendable {
  package enum Level: String, Sendable, CaseIterable {
    case info, warn, error
  }

  /// Wall clock, ms.
  package var at: Int64
  package var level: Level
  package var message: String
  /// Class and text of what was thrown.
  package var error: String?
  /// An object with figures.
  package var figures: JSON?

  package init(at: Int64, level: Level, message: String, error: String? = nil, figures: JSON? = nil) {
    self.at = at
    self.level = level
    self.message = message
    self.error = error
    self.figures = figures
  }

  /// The record as `takeDiagnostics` gives it.
  package func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("at", at)
      $0.member("level", level.rawValue)
      $0.member("message", message)
      if let error { $0.member("error", error) }
      if let figures { $0.member("data", figures) }
    }
  }
}
