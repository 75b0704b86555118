import Glibc
import JSONText

/// Files that a command is given, and stdin.
enum Input {
  /// The bytes of a file, or of stdin for `-`.
  static func bytes(of path: String) throws(Failure) -> [UInt8] {
    let name = path == "-" ? "stdin" : Printable.text(path)
    let file = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .usage("\(name): \(String(cString: strerror(errno)))") }
    defer { if path != "-" { close(file) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .usage("\(name): \(String(cString: strerror(errno)))") }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw .usage("\(name): is longer than \(limit) bytes") }
    }
  }

  /// What a line of the wire can hold, and some room around it.
  private static let limit = 60 << 20

  static func text(of path: String) throws(Failure) -> String {
    guard let text = String(validating: try bytes(of: path), as: UTF8.self) else {
      throw .usage("\(path == "-" ? "stdin" : Printable.text(path)): is no UTF-8")
    }
    return text
  }

  /// The value of an option that takes JSON.
  static func json(_ bytes: [UInt8], of option: String) throws(Failure) -> JSON {
    do {
      return try JSON(checking: bytes)
    } catch {
      throw .usage("--\(option): is not JSON: \(error.reason) at byte \(error.offset)")
    }
  }
}
