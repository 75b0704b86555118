import Disk
import QueueEngine
import QueueModel

/// How each step is carried out.
extension World {
  /// All of a history. Throws `Broken` at the first rule that does not hold.
  func play(_ steps: [(place: Int, step: Step)]) throws {
    try begin()
    for (index, (place, step)) in steps.enumerated() {
      record.add(.step(place))
      try play(step)
      if batch.isEmpty {
        if index % 3 == 2 { try call(.rows) }
        if disk_process_is_dead() == 0 { record.add(.quiet) }
      }
      try check()
    }
    try drain()
  }

  private func play(_ step: Step) throws {
    if isTogether, !step.isCall { try flush() }
    switch step {
    case .enqueue(let host, let wishes, let all): try enqueue(wishes, from: host, all: all)
    case .cancel(let id): try call(.cancel("e\(id)"))
    case .cancelGroup: try call(.cancelGroup("g"))
    case .retry(let id): try call(.retry("e\(id)"))
    case .pause(let scope): try call(.pause(scope))
    case .resume(let scope): try call(.resume(scope))
    case .updateHeaders(let key, let origin):
      try call(
        .updateHeaders(
          key: key.map { "k\($0)" }, origin: origin.map { "http://h\($0).test" }, secret: nextSecret()))
    case .network(let kind, let wifiOnly):
      try call(.network(kind))
      try call(.wifiOnly(wifiOnly))
    case .subscribe(let host, let key, let window):
      try connect(host, key: key.map { "k\($0)" }, window: window)
    case .disconnect(let host): try disconnect(host)
    case .acknowledge(let pick, let twice): try acknowledge(pick, twice: twice)
    case .release(let host, let pick):
      guard hosts[host] != nil, !outcomes.isEmpty else { return }
      try call(.release([outcomes[pick % outcomes.count]], host: host))
    case .diagnostics: try call(.diagnostics)
    case .answer(let pick, let reply, let progress):
      if progress { transport.progress(pick) }
      transport.finish(pick) { self.result($0, reply) }
      try run([])
    case .late(let pick, let reply):
      transport.finish(pick, late: true) { self.result($0, reply) }
      try run([])
    case .pass(let time): try pass(time)
    case .setWall(let by):
      clock.setWall(by: by)
      try run([.tick])
    case .holdWorkers: holdWorkers()
    case .letWorkersGo: try letWorkersGo()
    case .together: isTogether = true
    case .disk(let fault, let after, let times):
      guard death == nil else { return }
      record.add(.diskFault(fault))
      disk_plan(disk_fault(rawValue: UInt32(fault.rawValue)), after, times)
    case .die(let after, let kind, let again):
      guard after > 0 else { return try end(kind, again: again) }
      death = (kind, again)
      disk_plan(DISK_PROCESS_DIES, after, 1)
    }
  }

  private func enqueue(_ wishes: [Wish], from host: Int, all: Bool) throws {
    if hosts[host] == nil { try connect(host, key: nil, window: 64) }
    let requests = wishes.map {
      Request($0, host: host, secret: nextSecret(), wall: clock.now().wall, sources: folder.sources)
    }
    // A host that comes back finds its file moved away sometimes, or cut by the end of the system.
    for (request, wish) in zip(requests, wishes) {
      guard let source = request.source else { continue }
      let size = folder.size(source: source)
      if size.map({ $0 != request.content.count }) ?? !(wish.isHigh && wish.variant == 0) {
        folder.write(request.content, source: source)
        record.add(.wrote(source))
      }
    }
    try call(.enqueue(requests, all: all))
  }

  private func nextSecret() -> String {
    secrets += 1
    return "Bearer secret-\(secrets)"
  }

  private func acknowledge(_ pick: Int, twice: Bool) throws {
    guard !outcomes.isEmpty else { return }
    let eventID = outcomes[pick % outcomes.count]
    try call(.acknowledge([eventID]))
    if twice { try call(.acknowledge([eventID, "nobody's"])) }
  }

  /// What the reply is to this request: none is welcome without the newest token, once one was refused.
  private func result(
    _ running: SimulatedTransport.Running, _ reply: Step.Reply
  ) -> (Step.Reply, AttemptResult) {
    let number = running.secret.flatMap { Int($0.split(separator: "-").last ?? "") } ?? 0
    if reply == .unauthorized { refused = max(refused, number) }
    let isRefused = number <= refused && reply.isAnswer
    let made = isRefused ? Step.Reply.unauthorized : reply
    return (made, AttemptResult(made, length: running.length))
  }

  // MARK: The end

  private func waitForAnswers() throws {
    for _ in 0..<10 where hasOpenCalls { try pass(10_000) }
  }

  /// Everything is let go and answered; then the power is cut, and what is left in the journal comes to one
  /// host.
  private func drain() throws {
    try flush()
    disk_plan(DISK_NO_FAULT, 0, 0)
    death = nil
    try letWorkersGo()
    // A store that has failed rests for a while; then it has to answer.
    try waitForAnswers()
    guard !hasOpenCalls else { throw Broken(rule: "calls are not answered though the disk is well") }
    isTogether = true
    for scope in [Step.Scope.queue, .group, .key(0), .key(1)] { try call(.resume(scope)) }
    try call(.network(0))
    try flush()
    // It may have begun to rest with nobody asking for anything.
    try waitForAnswers()
    for round in 0..<60 {
      if round % 4 == 0 { try call(.updateHeaders(key: nil, origin: nil, secret: nextSecret())) }
      for _ in 0..<40 where !transport.running.isEmpty {
        for _ in transport.running { transport.finish(0) { self.result($0, .ok) } }
        try run([])
      }
      if isDrained { break }
      try pass(10_000)
    }
    guard isDrained else { throw Broken(rule: "the queue does not drain") }
    // What waits for others that have failed waits for ever.
    isTogether = true
    for id in liveIDs { try call(.cancel(id)) }
    try flush()
    guard !hasOpenCalls else { throw Broken(rule: "the last calls are not answered") }
    record.add(.files(folder.files))
    try check()
    record.add(.lastSubscription)
    try end(.powerCut, again: nil)
    try connect(1, key: nil, window: 1024)
    try call(.rows)
    record.add(.files(folder.files))
    record.add(.over)
    try check()
  }
}

extension Step {
  /// Can be decided together with other calls.
  fileprivate var isCall: Bool {
    switch self {
    case .enqueue, .cancel, .cancelGroup, .retry, .pause, .resume, .updateHeaders, .acknowledge, .release:
      true
    case .network, .subscribe, .disconnect, .diagnostics, .answer, .late, .pass, .setWall, .holdWorkers,
      .letWorkersGo, .together, .disk, .die:
      false
    }
  }
}

extension Step.Reply {
  /// The server itself has answered.
  var isAnswer: Bool {
    switch self {
    case .notConnected, .lostBefore, .lostAfter, .reusedDied, .bodyGone: false
    case .ok, .created, .cut, .unusable, .badRequest, .unauthorized, .teapot, .tooMany, .unavailable,
      .earlyOK:
      true
    }
  }

  /// What it asks for, ms.
  static let retryAfter: Int64 = 5000
}

extension AttemptResult {
  init(_ reply: Step.Reply, length: Int64) {
    func answer(
      _ status: Int, _ completeness: Answer.Completeness = .whole,
      _ headers: [(name: String, value: String)] = []
    ) -> Answer {
      Answer(
        status: status, headers: headers, body: Array(#"{"status":\#(status)}"#.utf8),
        completeness: completeness)
    }
    func failure(_ cause: TransferFailure.Cause) -> TransferFailure { TransferFailure(cause, "simulated") }
    let whole: (Answer) -> AttemptResult = {
      AttemptResult(answer: $0, requestWentWhole: true, bytesSent: length, bytesReceived: 20)
    }
    switch reply {
    case .ok: self = whole(answer(200))
    case .created: self = whole(answer(201))
    case .cut: self = whole(answer(200, .cut))
    case .unusable: self = whole(answer(200, .unusable))
    case .badRequest: self = whole(answer(400))
    case .unauthorized: self = whole(answer(401))
    case .teapot: self = whole(answer(418))
    case .tooMany: self = whole(answer(429, .whole, [("retry-after", "5")]))
    case .unavailable: self = whole(answer(503))
    case .earlyOK: self.init(answer: answer(200), requestWentWhole: false, bytesSent: length / 2)
    case .notConnected: self.init(failure: failure(.beforeRequest), requestWentWhole: false)
    case .lostBefore:
      self.init(failure: failure(.afterRequestBegan), requestWentWhole: false, bytesSent: length / 2)
    case .lostAfter:
      self.init(failure: failure(.afterRequestBegan), requestWentWhole: true, bytesSent: length)
    case .reusedDied:
      self.init(failure: failure(.afterRequestBegan), requestWentWhole: false, connectionWasReused: true)
    case .bodyGone: self.init(failure: failure(.bodyMissing), requestWentWhole: false)
    }
  }
}
