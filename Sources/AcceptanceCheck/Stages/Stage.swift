/// One stage of the check: a file for each.
protocol Stage: Sendable {
  static var name: String { get }
  /// Whether it can be had with a server that the check does not run.
  static var fitsGivenServer: Bool { get }

  /// Uploads a sample and notes the evidence; throws what was not as it should be.
  static func run(_ bench: Bench) throws(Setback)
}
