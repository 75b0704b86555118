import QueueModel
import QueueStore

/// Requests about the whole queue: each writes a setting and never a number of rows that grows with the queue
/// (D1).
extension Turn {
  mutating func pause(_ scope: PauseScope?, _ reply: @escaping Completion<Void>, _ writer: Writer)
    throws(StoreError)
  {
    answer(reply, ())
    let before = state.gates
    if let scope {
      state.gates.pausedKeys.formUnion(scope.keys)
      state.gates.pausedGroups.formUnion(scope.groups)
    } else {
      state.gates.paused = true
    }
    guard state.gates != before else { return }
    try savePause(before, writer)
    let stopping = Set(
      state.flights.filter { state.gates.isPaused($0.value.key, $0.value.group) }.keys.map(\.entry))
    for number in stopping.sorted() { try stop(number, writer) }
    try gatesChanged(from: before, told: stopping, writer)
  }

  mutating func resume(_ scope: PauseScope?, _ reply: @escaping Completion<Void>, _ writer: Writer)
    throws(StoreError)
  {
    answer(reply, ())
    let before = state.gates
    if let scope {
      state.gates.pausedKeys.subtract(scope.keys)
      state.gates.pausedGroups.subtract(scope.groups)
    } else {
      state.gates.paused = false
    }
    guard state.gates != before else { return }
    try savePause(before, writer)
    try gatesChanged(from: before, writer)
  }

  /// Members of groups that the change is about are set apart, or put back, from this turn on.
  private mutating func savePause(_ before: Gates, _ writer: Writer) throws(StoreError) {
    try writer.savePause(state.gates)
    let changed = state.gates.pausedGroups.symmetricDifference(before.pausedGroups)
    guard !changed.isEmpty else { return }
    state.unsorted.formUnion(changed)
    state.splitting = Set(try state.misplaced(writer).keys)
  }

  /// Ends what is in flight of an entry that a gate has closed over; the entry goes back to the queue.
  private mutating func stop(_ number: Int64, _ writer: Writer) throws(StoreError) {
    if let entry = try writer.entry(number: number), entry.isInFlight {
      try apply(entry.stopped(now: now), from: entry, writer)
    }
    for attempt in state.flights.keys where attempt.entry == number {
      land(attempt)
      then(.stop(attempt))
    }
  }

  mutating func setWifiOnly(_ wifiOnly: Bool, _ reply: @escaping Completion<Void>, _ writer: Writer)
    throws(StoreError)
  {
    answer(reply, ())
    guard state.gates.wifiOnly != wifiOnly else { return }
    state.gates.wifiOnly = wifiOnly
    mustSync()
    try writer.save(wifiOnly: wifiOnly)
  }

  mutating func updateHeaders(
    _ headers: HeaderFields, keys: Set<EntryKey>?, origin: Origin?, _ reply: @escaping Completion<Void>,
    _ writer: Writer
  ) throws(StoreError) {
    answer(reply, ())
    let before = state.gates
    let patch = HeaderPatch(number: before.headerRevision + 1, headers: headers, keys: keys, origin: origin)
    state.gates.add(patch)
    try writer.savePatches(state.gates)
    try writer.releaseAwaitingAuth(keys: keys, origin: origin)
    try gatesChanged(from: before, writer)
  }

  /// Erases the patches that no entry, and no enqueue on its way, is older than: they may hold secrets (D38).
  mutating func erasePatches(_ writer: Writer) throws(StoreError) {
    guard wrote, !state.gates.patches.isEmpty else { return }
    var oldest = try writer.oldestHeaderRevision()
    if let revision = state.oldestIncomingHeaderRevision { oldest = min(oldest ?? revision, revision) }
    let before = state.gates.patches.count
    state.gates.erasePatches(notNewerThan: oldest)
    if state.gates.patches.count != before { try writer.savePatches(state.gates) }
  }

  mutating func configure(
    _ change: ConfigurationChange, from id: HostID, _ reply: @escaping Completion<Void>, _ writer: Writer
  ) throws(StoreError) {
    answer(reply, ())
    let before = state.configuration
    state.configuration = change.applied(to: before)
    guard state.configuration != before else { return }
    mustSync()
    try writer.save(state.configuration)
    state.slots.concurrency = state.configuration.concurrency
    if state.configuration.concurrency != before.concurrency { try rearrangeSending(writer) }
    if state.configuration.bandwidth != before.bandwidth { then(.limit(state.configuration.bandwidth)) }
    if state.configuration.connection != before.connection {
      then(.configure(state.configuration.connection))
    }
    guard state.connections.count > 1 else { return }
    try writer.addDiagnostic(
      Diagnostic(at: now.wall, level: .warn, message: "the configuration was changed by another host"),
      isBoot: false)
  }
}

extension EngineState {
  /// The newest queue time at which an attempt began that reached the origin.
  func reachedAt(_ origin: Origin) -> Int64 { reached[origin] ?? .min }

  mutating func noteReached(_ origin: Origin, by startedAt: Int64) {
    reached[origin] = max(reachedAt(origin), startedAt)
    // Only attempts in flight can still compare with it.
    if reached.count > 2 * flights.count + 16 {
      let flying = Set(flights.values.map(\.origin))
      reached = reached.filter { flying.contains($0.key) }
    }
  }
}
