/// Which due work may take a slot, and which goes first (D25, D51, D52).
package struct Slots: Sendable {
  package var concurrency: Concurrency
  /// Origins with attempts on their way, and those that were learnt about.
  package private(set) var origins: [Origin: OriginLoad] = [:]
  private var all = OriginLoad.Tally()
  private var quiet = OriginLoad.Tally()
  /// Starts of high priority since the last normal one.
  private var highInARow = 0

  /// After so many starts of high priority a due normal entry gets the next slot that is not reserved.
  private static let highLimit = 3
  /// An attempt that has not moved for so many ms keeps nobody from another origin.
  package static let quietAfterMs: Int64 = 2000
  /// Origins that are remembered beside those in use.
  private static let rememberedOrigins = 256

  package init(_ concurrency: Concurrency) {
    self.concurrency = concurrency
  }

  /// Attempts that run.
  package var running: Int { all.all }

  /// Whether there may be room for anything.
  package var hasRoom: Bool { hasRoom(for: .high, taken: all, lent: quiet) }

  /// Work of normal priority may have to wait for a slot, if only where what stands still lends none.
  package var isShort: Bool { !hasRoom(for: .normal, taken: all, lent: OriginLoad.Tally()) }

  /// Whether an entry of this priority may start an attempt to the origin, as far as slots go. What waits in
  /// silence for another origin takes none: a server that hangs must not slow one that does not. So there are
  /// at most twice as many attempts as slots.
  package func hasRoom(for priority: Descriptor.Priority, to origin: Origin) -> Bool {
    let own = origins[origin]?.quiet ?? OriginLoad.Tally()
    let lent = OriginLoad.Tally(high: quiet.high - own.high, normal: quiet.normal - own.normal)
    return hasRoom(for: priority, taken: all, lent: lent)
  }

  private func hasRoom(
    for priority: Descriptor.Priority, taken: OriginLoad.Tally, lent: OriginLoad.Tally
  ) -> Bool {
    guard taken.all - lent.all < concurrency.total, taken.all < 2 * concurrency.total else { return false }
    switch priority {
    case .high: return true
    case .normal: return taken.normal - lent.normal < concurrency.total - concurrency.reservedHigh
    }
  }

  /// The priority of the next start among the due work that has room; nil when there is none.
  package func next(highDue: Bool, normalDue: Bool) -> Descriptor.Priority? {
    if highDue && !(normalDue && highInARow >= Slots.highLimit) { return .high }
    return normalDue ? .normal : nil
  }

  // MARK: Origins

  /// Attempts that run to the origin.
  package func running(to origin: Origin) -> Int { origins[origin]?.running.all ?? 0 }

  /// Attempts at once that the origin may have.
  package func limit(of origin: Origin) -> Int {
    concurrency.perOrigin ?? min(origins[origin]?.limit.current ?? AdaptiveLimit.initial, concurrency.total)
  }

  /// Whether the origin has all the attempts at once that it may have.
  package func isFull(_ origin: Origin) -> Bool { running(to: origin) >= limit(of: origin) }

  /// Whether the origin's circuit lets an attempt begin.
  package func admits(_ origin: Origin, at steady: Int64) -> Bool {
    origins[origin]?.circuit.admits(at: steady) ?? true
  }

  /// Queue time, ms, after `steady` at which the next circuit lets an attempt try its origin.
  package func nextTrial(after steady: Int64) -> Int64? {
    origins.values.compactMap(\.circuit.restsUntil).filter { $0 > steady }.min()
  }

  /// An attempt began.
  package mutating func took(
    _ priority: Descriptor.Priority, _ attempt: AttemptID, to origin: Origin, at steady: Int64
  ) -> OriginLoad.Attempt {
    switch priority {
    case .high: highInARow += 1
    case .normal: highInARow = 0
    }
    all.add(1, priority)
    if origins[origin] == nil { forgetIdle() }
    var load = origins[origin] ?? OriginLoad()
    load.running.add(1, priority)
    defer { origins[origin] = load }
    return load.began(attempt, at: steady)
  }

  /// An attempt that was counted by `took` ended.
  ///
  /// - Parameter wasQuiet: It was told of by `fellQuiet`.
  package mutating func freed(
    _ priority: Descriptor.Priority, _ attempt: AttemptID, to origin: Origin, wasQuiet: Bool
  ) {
    if wasQuiet { stirred(priority, origin) }
    all.add(-1, priority)
    origins[origin]?.running.add(-1, priority)
    origins[origin]?.ended(attempt)
  }

  /// An attempt has not moved for `quietAfterMs`.
  package mutating func fellQuiet(_ priority: Descriptor.Priority, _ origin: Origin) {
    quiet.add(1, priority)
    origins[origin]?.quiet.add(1, priority)
  }

  /// An attempt that had fallen quiet moves.
  package mutating func stirred(_ priority: Descriptor.Priority, _ origin: Origin) {
    quiet.add(-1, priority)
    origins[origin]?.quiet.add(-1, priority)
  }

  /// Learns from what came of an attempt, before `freed`.
  ///
  /// - Parameter fraction: Uniform in 0 ..< 1.
  package mutating func learn(
    _ sign: ServerSign, from attempt: OriginLoad.Attempt, to origin: Origin, at steady: Int64,
    fraction: Double
  ) {
    let isAlone = running(to: origin) == 1
    origins[origin]?.learn(
      sign, from: attempt, isAlone: isAlone, most: concurrency.total, at: steady, fraction: fraction)
  }

  /// A person wants the origin tried now.
  package mutating func tryNow(_ origin: Origin, at steady: Int64) {
    origins[origin]?.tryNow(at: steady)
  }

  /// The machine is connected in another way.
  package mutating func closeCircuits() {
    for origin in origins.keys { origins[origin]?.closeCircuit() }
  }

  /// Memory stays bounded however many servers a queue has seen: the longest unused half is forgotten.
  private mutating func forgetIdle() {
    let idle = origins.filter { $0.value.running.all == 0 }
    guard idle.count >= Slots.rememberedOrigins else { return }
    let oldest = idle.sorted { $0.value.usedAt < $1.value.usedAt }.prefix(Slots.rememberedOrigins / 2)
    for (origin, _) in oldest { origins[origin] = nil }
  }
}
