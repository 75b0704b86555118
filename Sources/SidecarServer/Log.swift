import Glibc

/// Lines for people, on stderr. Never holds a secret, never waits: a line that does not fit now is left out.
package enum Log {
  package static func note(_ message: String) {
    var line = Array("outtray: \(message)\n".utf8)
    var poll = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
    // A pipe that nobody reads is full at some time; a write of at most PIPE_BUF bytes never waits when poll
    // says so.
    if line.count > 4096 { line = line.prefix(4095) + [0x0A] }
    guard Glibc.poll(&poll, 1, 0) == 1, poll.revents & Int16(POLLOUT) != 0 else { return }
    _ = write(2, line, line.count)
  }
}
