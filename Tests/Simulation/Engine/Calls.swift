import JSONText
import QueueEngine
import QueueModel

/// What hosts ask for, as commands of the engine.
extension World {
  func call(_ ask: Ask) throws {
    let number = nextCall(ask)
    let done: Completion<Void> = completion(number) { .done }
    let from = hosts[1]?.id ?? hosts[0]?.id ?? HostID(0)
    switch ask {
    case .enqueue(let requests, let all):
      let host = hosts[requests[0].host]?.id ?? from
      let enqueues = try requests.map { try Enqueue(wording: $0) }
      if all {
        try submit(.enqueueAll(enqueues, from: host, completion(number) { .accepted($0) }))
      } else {
        try submit(.enqueue(enqueues[0], from: host, completion(number) { .accepted([$0]) }))
      }
    case .cancel(let id): try submit(.cancel(EntryID(id), done))
    case .cancelGroup(let group): try submit(.cancelGroup(EntryGroup(group), done))
    case .retry(let id): try submit(.retry(EntryID(id), completion(number) { .row($0) }))
    case .pause(let scope): try submit(.pause(PauseScope(scope), done))
    case .resume(let scope): try submit(.resume(PauseScope(scope), done))
    case .updateHeaders(let key, let origin, let secret):
      let headers = try HeaderFields(
        reading: JSON(checking: Array(#"{"Authorization":"\#(secret)"}"#.utf8)), path: "headers")
      try submit(
        .updateHeaders(
          headers, keys: key.map { [EntryKey($0)] }, origin: origin.map { Origin(text: $0) }, done))
    case .network(let kind):
      let kinds: [Network.Kind] = [.wifi, .cellular, .none]
      try submit(.networkDetected(Network(kind: kinds[kind]), isNewRoute: false))
    case .wifiOnly(let wifiOnly): try submit(.setWifiOnly(wifiOnly, done))
    case .subscribe(let host, let key, let window):
      guard let far = hosts[host] else { return }
      let kinds: Set<Subscription.Kind> =
        host == 0 ? [.state, .progress, .attempt, .group] : [.settled, .groupSettled]
      let subscription = Subscription(kinds: kinds, keys: key.map { [EntryKey($0)] }, window: window)
      try submit(.subscribe(subscription, from: far.id, done))
    case .acknowledge(let ids): try submit(.acknowledge(ids, from: from, done))
    case .release(let ids, let host):
      try submit(.release(ids, from: hosts[host]?.id ?? from, done))
    case .rows: try submit(.rows(RowQuery(), completion(number) { .rows($0.rows) }))
    case .diagnostics:
      try submit(
        .diagnostics(completion(number) { .diagnostics($0.map { "\($0.message) \($0.error ?? "")" }) }))
    }
  }
}

extension PauseScope {
  init?(_ scope: Step.Scope) {
    switch scope {
    case .queue: return nil
    case .group: self.init(groups: [EntryGroup("g")])
    case .key(let key): self.init(keys: [EntryKey("k\(key)")])
    }
  }
}

extension Request {
  /// - Parameters:
  ///   - wall: Now, ms since the epoch.
  ///   - sources: The folder of the hosts' files.
  init(_ wish: Wish, host: Int, secret: String, wall: Int64, sources: String) {
    let isFile = wish.body != .data
    id = "e\(wish.id)"
    key = "k\(wish.key)"
    group = wish.isInGroup ? "g" : nil
    lane = wish.isInLane ? "l" : nil
    after = wish.after.map { ["e\($0)"] } ?? []
    settlesOnFailure = wish.settlesOnFailure && wish.after != nil
    let name = "\(id)-\(wish.variant)-\(wish.body)"
    url = "http://h\(wish.origin).test/\(name)/"
    body = wish.body
    partSizes =
      wish.body == .parts
      ? (wish.variant == 0 ? [1, 2, 1, 1] : [2, 3]) : wish.body == .bigParts ? [30_000, 40_000] : []
    content = Request.content(of: wish)
    path = isFile ? "\(sources)/\(name)" : nil
    expiresAt = wish.expiresIn.map { wall + $0 }
    wifiOnly = wish.wifiOnly
    self.secret = secret
    self.host = host
    isHigh = wish.isHigh
  }

  /// The name of its source.
  var source: String? { path.map { String($0.split(separator: "/").last ?? "") } }

  private static func content(of wish: Wish) -> [UInt8] {
    // Where a source is gone, other parts go over the bytes that the entry has (D28).
    let isInParts = wish.body == .parts || wish.body == .bigParts
    let letter = UInt8(ascii: "a") + UInt8(wish.id * 2 + (isInParts ? 0 : wish.variant))
    return switch wish.body {
    case .data: Array("{\"n\":\(wish.id * 2 + wish.variant)}".utf8)
    case .file, .reference, .parts: [UInt8](repeating: letter, count: 5)
    case .moved, .bigFile, .bigParts: [UInt8](repeating: letter, count: 70_000)
    }
  }

  fileprivate var json: String {
    var members = [#""url":"\#(url)""#, #""headers":{"Authorization":"\#(secret)"}"#]
    if isHigh { members.append(#""priority":"high""#) }
    if wifiOnly { members.append(#""wifiOnly":true"#) }
    if let expiresAt { members.append(#""expiresAt":\#(expiresAt)"#) }
    let staging = body == .moved ? "move" : body == .reference ? "reference" : body == .parts ? "copy" : nil
    if let staging { members.append(#""staging":"\#(staging)""#) }
    if let path {
      members.append(#""file":"\#(path)""#)
    } else {
      members.append(#""data":\#(String(decoding: content, as: UTF8.self))"#)
    }
    if !partSizes.isEmpty {
      members[0] = #""method":"PUT""#
      var start = 0
      let parts = partSizes.enumerated().map { index, size in
        defer { start += size }
        return #"{"url":"\#(url)\#(index)","range":{"start":\#(start),"end":\#(start + size)}}"#
      }
      members.append(#""parts":[\#(parts.joined(separator: ","))]"#)
    }
    var call = [#""id":"\#(id)","key":"\#(key)","request":{\#(members.joined(separator: ","))}"#]
    if let group { call.append(#""group":"\#(group)""#) }
    if let lane { call.append(#""lane":"\#(lane)""#) }
    if !after.isEmpty { call.append(#""after":["\#(after.joined(separator: "\",\""))"]"#) }
    if settlesOnFailure { call.append(#""onFailure":"settle""#) }
    return "{\(call.joined(separator: ","))}"
  }
}

extension Enqueue {
  fileprivate init(wording request: Request) throws {
    try self.init(reading: JSON(checking: Array(request.json.utf8))) { EntryID(request.id) }
  }
}
