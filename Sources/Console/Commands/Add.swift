import Glibc
import JSONText
import OuttrayProtocol
import QueueModel

/// `outtray add`: takes a request into the queue.
enum Add {
  static let command = Command(
    "add", "take a request into the queue",
    operands: Operands("URL", 1...1),
    options: [
      .directory, Option("file", "F", "send this file; the queue takes a copy", kind: .file),
      Option("data", "JSON", "send this JSON"),
      Option("data-file", "F", "send the JSON in this file; - is stdin", kind: .file),
      Option("method", "M", "POST unless told otherwise", choices: HTTPMethod.allCases.map(\.rawValue)),
      Option("header", "N: V", "a header that is no secret; may be repeated", isRepeatable: true),
      Option("header-file", "F", "lines like Name: value, secrets too; - is stdin", kind: .file),
      Option("key", "KEY", "what kind of request it is (default: \(key))"),
      Option("id", "ID", "its name in the queue (default: a new one)"),
      Option("vars", "JSON", "an object or array that comes back with the outcome"),
      Option("group", "GROUP", "the entries that it belongs to"),
      Option("lane", "LANE", "entries of one lane go one at a time, in the order of their coming"),
      Option("after", "ID", "only when this one has completed; may be repeated", isRepeatable: true),
      Option("deadline-ms", "MS", "settles as expired so long after its first attempt"),
      Option("wifi-only", nil, "send it over Wi-Fi or ethernet that is not metered only"),
      Option("priority", "P", "normal or high", choices: Descriptor.Priority.allCases.map(\.rawValue)),
      Option(
        "staging", "S", "what becomes of the file: copy (the default), move or reference",
        choices: Descriptor.Staging.allCases.map(\.rawValue)),
      Option("wait", nil, "stay until it has settled, tell its outcome and acknowledge it"), .json,
    ],
    about: """
      Puts a request into the queue and prints its id once it is on disk. Where nobody serves
      the queue it is sent when outtray serve does. The same --id again follows the rules of
      enqueue: nothing is sent twice. Arguments can be read by every process of the machine:
      --header refuses Authorization, Cookie and X-Api-Key; secrets belong into --header-file.
      """,
    examples: [
      "outtray add https://api.example.com/notes --data '{\"text\":\"hi\"}' --wait",
      "outtray add https://files.example.com/a.jpg --method PUT --file a.jpg --key photo",
    ],
    statuses: [
      (Status.no, "with --wait: it settled with an error"), (Settlement.cancelled, "with --wait: cancelled"),
    ],
    run: run)

  private static let key = "outtray.add"

  private static func run(_ arguments: Arguments, _ around: Surroundings) throws(Failure) -> Int32 {
    let directory = try arguments.directory()
    let order = try Order(arguments, key: key)
    let waits = arguments.has("wait")
    let asJSON = arguments.has("json")
    var wait = Settlement.Wait(id: order.id, key: order.key, directory: directory, around)
    try around.change(directory) { live, isServed, _ throws(Failure) in
      // Before the call, so that the outcome finds who asked for it.
      if waits && isServed { try wait.subscribe(live) }
      let answer = try live.call(.enqueue, order.write)
      try report(answer, order, asJSON: asJSON, around)
      wait.generation = answer["generation"]?.integer ?? 1
      if waits && isServed { try wait.follow(live) }
    }
    return waits ? try wait.conclude(asJSON: asJSON) : Status.success
  }

  private static func report(
    _ answer: JSON, _ order: Order, asJSON: Bool, _ around: Surroundings
  ) throws(Failure) {
    if asJSON { try around.output.json(answer) } else { try around.output.line(Printable.text(order.id)) }
  }
}

/// What `add` asks for.
private struct Order {
  let id: String
  let key: String
  private let url: String
  private let vars: JSON?
  private let headers: HeaderLines
  private let file: String?
  private let data: JSON?
  private let method: String?
  private let priority: String?
  private let staging: String?
  private let isWifiOnly: Bool
  private let group: String?
  private let lane: String?
  private let after: [String]
  private let deadlineMs: Int?

  init(_ arguments: Arguments, key: String) throws(Failure) {
    url = arguments.operands[0]
    // Made here, so that the call is safe to repeat.
    id = arguments.value("id") ?? SystemBits().uuid()
    self.key = arguments.value("key") ?? key
    let bodies = ["file", "data", "data-file"].filter(arguments.has)
    guard bodies.count <= 1 else { throw .usage("--\(bodies[1]): not together with --\(bodies[0])") }
    guard arguments.value("data-file") != "-" || arguments.value("header-file") != "-" else {
      throw .usage("--data-file and --header-file: stdin cannot be both")
    }
    vars = try arguments.value("vars").map { text throws(Failure) in
      try Input.json(Array(text.utf8), of: "vars")
    }
    headers = try Order.headers(arguments)
    data = try Order.data(arguments)
    file = try arguments.value("file").map(Order.absolute)
    method = arguments.value("method")
    priority = arguments.value("priority")
    staging = arguments.value("staging")
    isWifiOnly = arguments.has("wifi-only")
    group = arguments.value("group")
    lane = arguments.value("lane")
    after = arguments.values("after")
    deadlineMs = try arguments.integer("deadline-ms", in: 1...Limits.maxInteger)
  }

  private static func data(_ arguments: Arguments) throws(Failure) -> JSON? {
    if let text = arguments.value("data") { return try Input.json(Array(text.utf8), of: "data") }
    guard let path = arguments.value("data-file") else { return nil }
    return try Input.json(try Input.bytes(of: path), of: "data-file")
  }

  private static func headers(_ arguments: Arguments) throws(Failure) -> HeaderLines {
    var headers: HeaderLines = []
    for text in arguments.values("header") {
      let field = try HeaderLines(lines: text, from: "--header")
      if let secret = field.first(where: { secrets.contains($0.name.lowercased()) }) {
        throw .usage(
          "--header: \(Printable.text(secret.name)) can be read by every process here; use --header-file")
      }
      headers += field
    }
    if let path = arguments.value("header-file") {
      headers += try HeaderLines(lines: try Input.text(of: path), from: "--header-file")
    }
    return headers
  }

  private static let secrets: Set = ["authorization", "cookie", "x-api-key"]

  /// The queue takes absolute paths, for its process stands elsewhere.
  private static func absolute(_ path: String) throws(Failure) -> String {
    guard !path.isEmpty else { throw .usage("--file: must not be empty") }
    if path.hasPrefix("/") || path.lowercased().hasPrefix("file://") { return path }
    guard let here = getcwd(nil, 0) else {
      throw .usage("--file: the current directory cannot be told: \(String(cString: strerror(errno)))")
    }
    defer { free(here) }
    return "\(String(cString: here))/\(path)"
  }

  func write(into params: inout JSONWriter) {
    params.member("id", id)
    params.member("key", key)
    if let vars { params.member("vars", vars) }
    if let group { params.member("group", group) }
    if let lane { params.member("lane", lane) }
    if !after.isEmpty { params.member("after", after) }
    if let deadlineMs { params.member("deadlineMs", Int64(deadlineMs)) }
    params.member("request") { request in
      request.object {
        $0.member("url", url)
        if let method { $0.member("method", method) }
        if !headers.isEmpty { $0.member("headers") { headers.write(into: &$0) } }
        if let data { $0.member("data", data) }
        if let file { $0.member("file", file) }
        if isWifiOnly { $0.member("wifiOnly", true) }
        if let priority { $0.member("priority", priority) }
        if let staging { $0.member("staging", staging) }
      }
    }
  }
}

/// Bits of the system's generator, for new ids.
private struct SystemBits: Randomness {
  func next() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}
