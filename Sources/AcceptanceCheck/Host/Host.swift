import Glibc
import JSONRPC
import JSONText
import OuttrayProtocol

/// A host with a sidecar of its own: calls out; answers and events in.
final class Host {
  /// Attempt events heard so far.
  private(set) var attempts: [JSON] = []
  /// Rows of state events heard so far.
  private(set) var states: [JSON] = []
  /// Outcomes heard so far.
  private(set) var outcomes: [JSON] = []
  private let child: ChildProcess
  private let watch: Watch
  private let patience: Int64
  private let log: String
  private var frames = FrameReader(maxLine: Limits.maxLine)
  private var answers: [Int64: JSON] = [:]
  private var lastID: Int64 = 0
  private var isOutputEnded = false
  /// What is wrong with a line that came.
  private var defect: String?

  /// Starts the program as `serve --dir DIR`; `patience` bounds each wait for it, ms.
  init(
    _ program: String, directory: String, log: String, on watch: Watch, patience: Int64
  ) throws(Setback) {
    self.watch = watch
    self.patience = patience
    self.log = log
    child = try ChildProcess(program, ["outtray", "serve", "--dir", directory], log: log)
    watch.add(child.output, POLLIN) { [unowned self] _ in readOutput() }
  }

  deinit { watch.remove(child.output) }

  // MARK: Out

  /// Calls a method and gives its result; throws `unmet` when it is refused.
  @discardableResult
  func call(_ method: Method, _ params: (inout JSONWriter) -> Void = { _ in }) throws(Setback) -> JSON {
    lastID += 1
    let id = lastID
    var line = JSONWriter()
    line.object {
      $0.member("jsonrpc", "2.0")
      $0.member("id", id)
      $0.member("method", method.rawValue)
      $0.member("params") { $0.object(params) }
    }
    // A sidecar that is gone is noticed by its output.
    _ = child.write(line.bytes + [0x0A])
    try wait(for: "an answer to \(method.rawValue)") { answers[id] != nil }
    let answer = answers.removeValue(forKey: id) ?? .null
    if let error = answer["error"] {
      let code = error["data"]?["code"]?.string ?? ""
      throw .unmet("\(method.rawValue) was refused: \(code) \(error["message"]?.string ?? "")")
    }
    return answer["result"] ?? .null
  }

  // MARK: In

  /// Waits until `holds` is true; throws `unmet` when the sidecar ends before that.
  func wait(for what: String, until holds: () -> Bool) throws(Setback) {
    try watch.wait(for: what, within: patience) { holds() || defect != nil || isOutputEnded }
    guard !holds() else { return }
    if let defect { throw .unmet(defect) }
    try waitForEnd()
    throw .unmet("the sidecar \(ending), with this still to come: \(what)\(lastWords)")
  }

  private func readOutput() {
    let bytes = child.read()
    if bytes.isEmpty {
      isOutputEnded = true
      watch.remove(child.output)
    } else {
      frames.feed(bytes) { take($0) }
    }
  }

  private func take(_ frame: Frame) {
    guard case .line(let line) = frame, let json = try? JSON(checking: line), json["jsonrpc"]?.string == "2.0"
    else {
      defect = "the sidecar wrote a line that is none of the protocol's"
      return
    }
    guard let name = json["method"]?.string else {
      if let id = json["id"]?.integer { answers[id] = json }
      return
    }
    let params = json["params"] ?? .null
    // Events of later versions are ignored.
    switch EventName(rawValue: name) {
    case .attempt: attempts.append(params)
    case .state: states.append(params)
    case .settled: outcomes.append(params)
    case .progress, .group, .groupSettled, .resync, nil: break
    }
  }

  // MARK: The end

  /// Goes away as hosts do: the sidecar sees its input end, and has to end well.
  func leave() throws(Setback) {
    child.endInput()
    try waitForEnd()
    guard child.hasEnded() == .exited(0) else {
      throw .unmet("the sidecar \(ending) when its host had gone\(lastWords)")
    }
  }

  /// SIGKILL.
  func kill() throws(Setback) {
    child.kill()
    try waitForEnd()
  }

  private func waitForEnd() throws(Setback) {
    try watch.wait(for: "the end of the sidecar", within: patience) { child.hasEnded() != nil }
  }

  private var ending: String { child.hasEnded()?.description ?? "still runs" }

  /// The reason of an early end is the last line of its log.
  private var lastWords: String {
    let descriptor = open(log, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    let text = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    guard let line = text.split(separator: 0x0A).last else { return "" }
    return " (\(String(decoding: line, as: UTF8.self)))"
  }
}
