import JSONText
import QueueModel

/// How a line of the log is written, by the names of `--log-format`.
package enum LogForm: String, Sendable, CaseIterable {
  /// `2026-01-02T03:04:05.678Z warn message key=value`: what could end the line or move a terminal's cursor
  /// is escaped, a value with a space, a quote or an equals sign is quoted.
  case text
  /// An object a line: at, level and message, then the fields.
  case json

  /// One line with its end.
  func bytes(of line: LogLine, at wall: Int64) -> [UInt8] {
    switch self {
    case .text: Array((text(of: line, at: wall) + "\n").utf8)
    case .json: json(of: line, at: wall)
    }
  }

  private func text(of line: LogLine, at wall: Int64) -> String {
    var text = "\(Timestamp.text(wall)) \(line.level.rawValue) \(LogForm.escaped(line.message))"
    for field in line.fields { text += " \(field.name)=\(LogForm.text(of: field.value))" }
    return text
  }

  private static func text(of value: LogLine.Value) -> String {
    switch value {
    case .number(let number): number.description
    case .json(let json): escaped(json.description)
    case .text(let text):
      isPlain(text) ? escaped(text) : quoted(text)
    }
  }

  private static func quoted(_ text: String) -> String {
    var inner = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { inner.append("\\") }
      inner.append(scalar)
    }
    return "\"" + escaped(String(inner)) + "\""
  }

  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && !text.unicodeScalars.contains { " =\"\\".unicodeScalars.contains($0) }
  }

  /// As JSON escapes, and the C1 controls and marks of direction as well, by which a terminal can be led to
  /// show another line than the one that was written.
  private static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      guard isUnsafe(scalar) else {
        escaped.unicodeScalars.append(scalar)
        continue
      }
      let digits = String(scalar.value, radix: 16)
      escaped += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
    return escaped
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case ..<0x20, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  private func json(of line: LogLine, at wall: Int64) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { object in
      object.member("at", Timestamp.text(wall))
      object.member("level", line.level.rawValue)
      object.member("message", line.message)
      for field in line.fields {
        switch field.value {
        case .text(let text): object.member(field.name, text)
        case .number(let number): object.member(field.name, number)
        case .json(let json): object.member(field.name, json)
        }
      }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
