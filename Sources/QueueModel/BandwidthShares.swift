/// Who of those that wait to send may go on with how many bytes, so that no limit is passed and all that
/// wait for the same one have equal shares (D53). Times in ms of any one clock.
package struct BandwidthShares<Sender: Hashable & Sendable>: Sendable {
  private var total: TokenBucket?
  private var keys: [EntryKey: TokenBucket] = [:]
  /// The longest wait first.
  private var waiting: [Waiting] = []

  private struct Waiting: Sendable {
    var sender: Sender
    var key: EntryKey?
    /// Bytes that it has left to send.
    var wants: Int64
    var granted: Int64 = 0
  }

  package init() {}

  /// Takes over new limits; what has gathered under one that stays is kept.
  package mutating func configure(_ bandwidth: Bandwidth, at now: Int64) {
    func bucket(_ old: TokenBucket?, _ rate: Int64) -> TokenBucket {
      if let old, old.rate == rate { return old }
      return TokenBucket(rate: rate, at: now)
    }
    total = bandwidth.total.map { bucket(total, $0) }
    let old = keys
    keys = [:]
    for (key, rate) in bandwidth.keys { keys[key] = bucket(old[key], rate) }
  }

  /// Whether a body of this key is limited.
  package func limits(_ key: EntryKey?) -> Bool { total != nil || bucket(of: key) != nil }

  /// Nobody waits.
  package var isIdle: Bool { waiting.isEmpty }

  /// The sender waits for bytes; to be asked for once until it was granted some.
  package mutating func wait(_ sender: Sender, _ key: EntryKey?, wants: Int64) {
    waiting.append(Waiting(sender: sender, key: key, wants: wants))
  }

  /// The sender waits no more.
  package mutating func leave(_ sender: Sender) { waiting.removeAll { $0.sender == sender } }

  /// Bytes for those that wait, share by share in turn, as far as the limits go; whoever gets some waits no
  /// more. One that no limit holds any more gets all it wants.
  package mutating func grants(at now: Int64) -> [(sender: Sender, bytes: Int64)] {
    var goesOn = true
    while goesOn {
      goesOn = false
      for index in waiting.indices where waiting[index].wants > waiting[index].granted {
        let bytes = take(for: waiting[index], at: now)
        waiting[index].granted += bytes
        if bytes > 0 { goesOn = true }
      }
    }
    let served = waiting.filter { $0.granted > 0 }
    waiting.removeAll { $0.granted > 0 }
    return served.map { ($0.sender, $0.granted) }
  }

  /// When the next of those that wait may go on; nil when none does.
  package var nextAt: Int64? {
    waiting.map { max(total?.shareAt ?? .min, bucket(of: $0.key)?.shareAt ?? .min) }.min()
  }

  private func bucket(of key: EntryKey?) -> TokenBucket? { key.flatMap { keys[$0] } }

  private mutating func take(for waiting: Waiting, at now: Int64) -> Int64 {
    let left = waiting.wants - waiting.granted
    let own = bucket(of: waiting.key)
    let share = min(left, total?.share ?? left, own?.share ?? left)
    // No less than a share: crumbs would cost a wake-up each.
    if let filled = total?.filled(at: now), filled < share { return 0 }
    if let key = waiting.key {
      if let filled = keys[key]?.filled(at: now), filled < share { return 0 }
      keys[key]?.take(share)
    }
    total?.take(share)
    return share
  }
}
