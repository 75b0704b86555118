import Glibc

/// A parser of forms that others wrote, in a process of its own (`formparser/main.go`).
final class FormParser {
  private var process: pid_t = 0
  private let input: Int32
  private let output: Int32

  /// - Parameter program: Its path.
  init(_ program: String) throws {
    var (toIt, fromIt): ([Int32], [Int32]) = ([0, 0], [0, 0])
    var actions = posix_spawn_file_actions_t()
    guard pipe(&toIt) == 0, pipe(&fromIt) == 0,
      posix_spawn_file_actions_init(&actions) == 0
    else { throw Broken("no pipe: error \(errno)") }
    defer { posix_spawn_file_actions_destroy(&actions) }
    for end in toIt + fromIt { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    posix_spawn_file_actions_adddup2(&actions, toIt[0], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, fromIt[1], STDOUT_FILENO)
    let name = strdup(program)
    defer { free(name) }
    let code = posix_spawn(&process, program, &actions, nil, [name, nil], nil)
    close(toIt[0])
    close(fromIt[1])
    (input, output) = (toIt[1], fromIt[0])
    guard code == 0 else { throw Broken("\(program) cannot be started: error \(code)") }
  }

  deinit {
    close(input)
    close(output)
    waitpid(process, nil, 0)
  }

  /// Whether the body has exactly these parts.
  func sees(_ parts: [FormPart], in body: [UInt8], boundary: String) throws -> Bool {
    try send(FormParser.behindLength(Array(boundary.utf8)) + FormParser.behindLength(body))
    var expected = FormParser.number(parts.count)
    for part in parts {
      for field in [part.name, part.fileName, part.contentType, part.content] {
        expected += FormParser.behindLength(field)
      }
    }
    // Behind its length, so that two reads are enough.
    let answer = try receive(receive(4).reduce(0) { $0 << 8 | Int($1) })
    return answer == expected
  }

  private static let absent = 0xFFFF_FFFF

  private static func behindLength(_ bytes: [UInt8]?) -> [UInt8] {
    guard let bytes else { return number(absent) }
    return number(bytes.count) + bytes
  }

  private static func number(_ value: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(value).bigEndian) { Array($0) }
  }

  private func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      // libFuzzer looks at the time by a signal.
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Broken("the parser does not read: error \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  private func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var at = 0
    while at < count {
      let read = bytes.withUnsafeMutableBytes { Glibc.read(output, $0.baseAddress! + at, count - at) }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw Broken("the parser does not answer: error \(errno)") }
      at += read
    }
    return bytes
  }
}

/// One part of a form, as a server has it.
struct FormPart: Equatable {
  var name: [UInt8]
  var fileName: [UInt8]?
  var contentType: [UInt8]
  var content: [UInt8]
}
