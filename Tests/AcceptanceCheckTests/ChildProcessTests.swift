import Glibc
import Testing

@testable import AcceptanceCheck

@Suite("Children, samples and the folder of a check")
struct ChildProcessTests {
  private let watch = Watch(within: 20_000)

  private func end(of child: ChildProcess) throws -> ChildProcess.Ending? {
    try watch.wait(for: "the end", within: 10_000) { child.hasEnded() != nil }
    return child.hasEnded()
  }

  @Test("what is written comes back, and the end of its input ends it")
  func echo() throws {
    let child = try ChildProcess("/bin/cat", ["cat"], log: "/dev/null")
    #expect(child.write(Array("hello\n".utf8)))
    #expect(child.read() == Array("hello\n".utf8))
    #expect(child.hasEnded() == nil)
    child.endInput()
    #expect(child.read() == [])
    #expect(try end(of: child) == .exited(0))
    #expect(child.hasEnded() == .exited(0))
  }

  @Test("a status and a signal are told apart, and a program that is not there is said so")
  func endings() throws {
    let failing = try ChildProcess("/bin/sh", ["sh", "-c", "exit 75"], log: "/dev/null")
    #expect(try end(of: failing) == .exited(75))
    let killed = try ChildProcess("/bin/cat", ["cat"], log: "/dev/null")
    killed.kill()
    #expect(try end(of: killed) == .killed(signal: 9))
    #expect(throws: Setback.self) { try ChildProcess("/nonexistent/outtray", ["outtray"], log: "/dev/null") }
  }

  @Test("a child that is let go of is killed and reaped")
  func letGo() throws {
    var child: ChildProcess? = try ChildProcess(
      "/bin/sh", ["sh", "-c", "echo $$; exec sleep 1000"], log: "/dev/null")
    let pid = try #require(pid_t(String(decoding: child?.read() ?? [], as: UTF8.self).dropLast()))
    #expect(kill(pid, 0) == 0)
    child = nil
    #expect(kill(pid, 0) == -1 && errno == ESRCH)
  }

  @Test("a child begins with no signal blocked, and its last words are in its log")
  func signals() throws {
    let folder = try TemporaryFolder(in: "/tmp")
    defer { _ = folder.remove() }
    let child = try ChildProcess(
      "/bin/sh", ["sh", "-c", "grep SigBlk /proc/self/status; echo gone >&2"], log: "\(folder.path)/log")
    #expect(String(decoding: child.read(), as: UTF8.self) == "SigBlk:\t0000000000000000\n")
    #expect(try end(of: child) == .exited(0))
    let again = try ChildProcess("/bin/cat", ["cat", "\(folder.path)/log"], log: "/dev/null")
    #expect(again.read() == Array("gone\n".utf8))
  }

  @Test("a sample is the same on every machine, and never overwrites a file")
  func sample() throws {
    let folder = try TemporaryFolder(in: "/tmp")
    defer { _ = folder.remove() }
    let sample = try Sample(at: "\(folder.path)/a", size: 5, seed: 0)
    // The first number of SplitMix64 from 0 is e220a8397b1dcdaf.
    #expect(sample.sha256 == SHA256.hex(of: [0xaf, 0xcd, 0x1d, 0x7b, 0x39]))
    #expect(throws: Setback.self) { try Sample(at: "\(folder.path)/a", size: 5, seed: 0) }
  }

  @Test("a folder goes with all that is in it, and nothing that a link leads to")
  func folder() throws {
    let kept = try TemporaryFolder(in: "/tmp")
    defer { _ = kept.remove() }
    _ = try Sample(at: "\(kept.path)/file", size: 1, seed: 1)
    let folder = try TemporaryFolder(in: "/tmp")
    let inner = try folder.makeFolder("inner")
    _ = try Sample(at: "\(inner)/file", size: 1, seed: 1)
    #expect(symlink(kept.path, "\(inner)/link") == 0)
    #expect(folder.remove())
    #expect(access(folder.path, F_OK) == -1)
    #expect(access("\(kept.path)/file", F_OK) == 0)
    #expect(throws: TemporaryFolder.Unusable.self) { try TemporaryFolder(in: folder.path) }
  }
}
