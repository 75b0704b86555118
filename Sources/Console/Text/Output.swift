import CLinux
import Glibc
import JSONText

/// Standard output, for people or for programs.
package final class Output: Sendable {
  private let descriptor: Int32
  /// Columns; nil when it is no terminal, so that nothing is cut.
  let width: Int?
  let isColoured: Bool

  /// As the terminal and the environment say.
  package init() {
    descriptor = 1
    let isTerminal = isatty(1) != 0
    width = isTerminal ? Output.columns() : nil
    isColoured = isTerminal && Output.variable("NO_COLOR") == nil && Output.variable("TERM") != "dumb"
  }

  private static func columns() -> Int {
    if let text = variable("COLUMNS"), let columns = Int(text), columns > 0 { return columns }
    var (columns, rows): (Int32, Int32) = (0, 0)
    clinux_window(1, &columns, &rows)
    return columns > 0 ? Int(columns) : 80
  }

  /// nil also for an empty one.
  static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Writes a line; throws when it cannot be written.
  package func line(_ text: String) throws(Failure) { try write(Array("\(text)\n".utf8)) }

  /// Writes lines that have their ends.
  func text(_ lines: String) throws(Failure) { try write(Array(lines.utf8)) }

  /// One object, on a line of its own.
  func object(_ members: (inout JSONWriter) -> Void) throws(Failure) {
    var writer = JSONWriter()
    writer.object(members)
    try write(writer.bytes + [0x0A])
  }

  func json(_ value: JSON) throws(Failure) {
    var writer = JSONWriter()
    writer.raw(value)
    try write(writer.bytes + [0x0A])
  }

  func paint(_ text: String, _ colour: Colour?) -> String {
    isColoured ? Colour.paint(text, colour) : text
  }

  private func write(_ bytes: [UInt8]) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else {
        throw Failure(
          Status.internalError, "stdout could not be written: \(String(cString: strerror(errno)))")
      }
      rest = rest.dropFirst(count)
    }
  }
}
