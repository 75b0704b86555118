package import JSONText

/// Time limits of one attempt, in milliseconds (D22).
package struct Timeouts: Sendable, Equatable {
  /// Until the connection stands, TLS included.
  package var connectMs: Int64 = 30_000
  /// Without a byte while the request or the answer moves.
  package var stallMs: Int64 = 60_000
  /// From the last byte sent to the head, and again from the head to the end of the answer.
  package var responseMs: Int64 = 300_000

  package init() {}

  /// The limits with each one that `layer` names in its place.
  package func overlaid(with layer: TimeoutLayer?) -> Timeouts {
    var timeouts = self
    if let connectMs = layer?.connectMs { timeouts.connectMs = connectMs }
    if let stallMs = layer?.stallMs { timeouts.stallMs = stallMs }
    if let responseMs = layer?.responseMs { timeouts.responseMs = responseMs }
    return timeouts
  }
}

/// The time-outs that a descriptor names, ms, each at least 1 (D22).
package struct TimeoutLayer: Sendable, Equatable {
  package var connectMs: Int64?
  package var stallMs: Int64?
  package var responseMs: Int64?

  package init() {}

  static let names = ["connectMs", "stallMs", "responseMs"]

  /// Reads `{connectMs?, stallMs?, responseMs?}`.
  package init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: Self.names)
    connectMs = try object.integer("connectMs", in: 1...Bounds.integer)
    stallMs = try object.integer("stallMs", in: 1...Bounds.integer)
    responseMs = try object.integer("responseMs", in: 1...Bounds.integer)
  }

  /// Writes what `init(reading:)` reads.
  package func write(into writer: inout JSONWriter) {
    writer.object {
      if let connectMs { $0.member("connectMs", connectMs) }
      if let stallMs { $0.member("stallMs", stallMs) }
      if let responseMs { $0.member("responseMs", responseMs) }
    }
  }
}

extension Timeouts {
  /// Reads the limits of `configure`, where an object is complete (D43).
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: TimeoutLayer.names)
    for name in TimeoutLayer.names { _ = try object.required(name) }
    self = Timeouts().overlaid(with: try TimeoutLayer(reading: json, path: path))
  }

  func write(into writer: inout JSONWriter) {
    writer.object {
      $0.member("connectMs", connectMs)
      $0.member("stallMs", stallMs)
      $0.member("responseMs", responseMs)
    }
  }
}
