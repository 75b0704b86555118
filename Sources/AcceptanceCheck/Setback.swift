/// Why a stage ends early.
enum Setback: Error, Equatable {
  /// What was expected did not come about; says what was expected and what was found.
  case unmet(String)
  /// The process was asked to end, by this signal.
  case interrupted(Int32)
}
