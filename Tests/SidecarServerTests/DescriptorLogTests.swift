import Glibc
import QueueModel
import Testing

@testable import SidecarServer

@Suite struct DescriptorLogTests {
  /// A pipe whose reader reads when it is told to.
  private final class Pipe {
    let input: Int32
    private let output: Int32

    init() {
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      (output, input) = (ends[0], ends[1])
    }

    deinit {
      close(output)
      close(input)
    }

    /// The lines up to one that `isLast`, waiting for them.
    func lines(until isLast: (String) -> Bool) -> [String] {
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = read(output, &buffer, buffer.count)
        guard count > 0 else { return [] }
        bytes += buffer.prefix(count)
        guard bytes.last == 0x0A else { continue }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        if lines.contains(where: isLast) { return lines }
      }
    }
  }

  private func log(_ pipe: Pipe, _ threshold: LogLevel = .debug) -> DescriptorLog {
    DescriptorLog(descriptor: pipe.input, form: .text, threshold: threshold, clock: { 0 })
  }

  @Test("Lines come in order, none above the threshold, and the reason of a bad exit is the last")
  func inOrder() {
    let pipe = Pipe()
    let log = log(pipe, .warn)
    log.write(.info, "not this")
    for number in 0..<100 { log.write(.warn, "line", [.init("number", Int64(number))]) }
    log.end("the directory is locked")
    log.write(.error, "too late")
    let lines = pipe.lines { $0.hasPrefix("outtray: ") }
    #expect(lines.count == 101)
    for number in 0..<100 { #expect(lines[number] == "1970-01-01T00:00:00.000Z warn line number=\(number)") }
    #expect(lines.last == "outtray: the directory is locked")
  }

  @Test("A pipe that nobody reads holds up nobody; what was left out is told once somebody reads")
  func stalled() throws {
    let pipe = Pipe()
    let flags = fcntl(pipe.input, F_GETFL)
    let log = log(pipe)
    let count = 50_000
    for number in 0..<count { log.write(.debug, "line", [.init("number", Int64(number))]) }
    log.flush(milliseconds: 10)
    log.end("gone wrong")
    #expect(fcntl(pipe.input, F_GETFL) == flags)
    let lines = pipe.lines { $0.hasPrefix("outtray: ") }
    let told = lines.filter { $0.contains(" debug line ") }
    for (number, line) in told.enumerated() { #expect(line.hasSuffix(" number=\(number)")) }
    #expect(told.count < count)
    let notice = try #require(lines.dropLast().last)
    #expect(notice.hasSuffix("lines were left out, since nobody read on count=\(count - told.count)"))
    #expect(lines.last == "outtray: gone wrong")
  }

  @Test("A log that nobody can read any more takes lines and keeps none")
  func broken() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    close(ends[0])
    defer { close(ends[1]) }
    let log = DescriptorLog(descriptor: ends[1], form: .json, threshold: .info)
    for _ in 0..<10_000 { log.write(.info, "line") }
    let begin = ContinuousClock.now
    log.flush(milliseconds: 60_000)
    #expect(begin.duration(to: .now) < .seconds(60))
    log.end("over")
  }
}
