import Glibc

/// What stood behind a command, as its options say that it is meant.
package struct Arguments: Sendable {
  package private(set) var operands: [String] = []
  private var given: [String: [String]] = [:]

  package init() {}

  mutating func add(_ option: Option, _ value: String) { given[option.name, default: []].append(value) }

  mutating func add(operands: [String]) { self.operands += operands }

  package func has(_ name: String) -> Bool { given[name] != nil }

  /// The last value; nil when it was not given.
  package func value(_ name: String) -> String? { given[name]?.last }

  package func values(_ name: String) -> [String] { given[name] ?? [] }

  package func integer(_ name: String, in range: ClosedRange<Int>) throws(Failure) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .usage("--\(name): must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// `--dir`, or what the environment says in its place.
  func directory() throws(Failure) -> String {
    if let directory = value(Option.directory.name) {
      guard !directory.isEmpty else { throw .usage("--dir: must not be empty") }
      return directory
    }
    if let named = getenv(Option.directoryVariable).map({ String(cString: $0) }), !named.isEmpty {
      return named
    }
    throw .usage("say which queue: --dir DIR, or \(Option.directoryVariable) in the environment")
  }
}
