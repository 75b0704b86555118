import Testing

@testable import QueueModel

@Suite("Slots")
struct SlotsTests {
  private let origin = Origin(text: "https://h:443")
  private let other = Origin(text: "https://other:443")

  private func filled(high: Int, normal: Int, total: Int = 4, reservedHigh: Int = 1) -> Slots {
    var concurrency = Concurrency()
    concurrency.total = total
    concurrency.reservedHigh = reservedHigh
    var slots = Slots(concurrency)
    for _ in 0..<high { slots.took(.high, origin) }
    for _ in 0..<normal { slots.took(.normal, origin) }
    return slots
  }

  @Test("B176, B299, D25: at most 4 at once, at most 3 of them normal")
  func limits() {
    for high in 0...4 {
      for normal in 0...3 where high + normal <= 4 {
        let slots = filled(high: high, normal: normal)
        let hasRoom = high + normal < 4
        #expect(slots.hasRoom == hasRoom)
        for origin in [origin, other] {
          #expect(slots.hasRoom(for: .high, to: origin) == hasRoom)
          #expect(slots.hasRoom(for: .normal, to: origin) == (hasRoom && normal < 3))
        }
        #expect(slots.running(to: origin) == high + normal)
      }
    }
  }

  @Test("A-QUEUE-09, D25: high first, but after three in a row a due normal entry")
  func fairness() {
    var slots = filled(high: 0, normal: 0)
    var started: [Descriptor.Priority] = []
    for _ in 0..<12 {
      guard let next = slots.next(highDue: true, normalDue: true) else {
        Issue.record("something is due")
        return
      }
      started.append(next)
      slots.took(next, origin)
      slots.freed(next, origin)
    }
    #expect(
      started == [
        .high, .high, .high, .normal, .high, .high, .high, .normal, .high, .high, .high, .normal,
      ])
    #expect(slots.next(highDue: false, normalDue: true) == .normal)
    #expect(slots.next(highDue: false, normalDue: false) == nil)
  }

  @Test("D25: perOrigin limits one origin only")
  func perOrigin() {
    var slots = filled(high: 0, normal: 0)
    #expect(!slots.isFull(origin))
    slots.concurrency.perOrigin = 1
    slots.took(.normal, origin)
    #expect(slots.isFull(origin))
    #expect(!slots.isFull(other))
    slots.freed(.normal, origin)
    #expect(!slots.isFull(origin))
    #expect(slots.running(to: origin) == 0)
  }

  @Test("D25: a smaller total starts nothing until enough have ended")
  func shrunk() {
    var slots = filled(high: 0, normal: 3)
    slots.concurrency.total = 2
    #expect(!slots.hasRoom)
    slots.freed(.normal, origin)
    slots.freed(.normal, origin)
    #expect(!slots.hasRoom(for: .normal, to: origin))
    #expect(slots.hasRoom(for: .high, to: origin))
  }

  @Test("D52: what stands still takes its slot from its own origin alone, and takes it back when it moves")
  func quiet() {
    var slots = filled(high: 0, normal: 3)
    #expect(slots.isShort)
    for _ in 0..<3 { slots.fellQuiet(.normal, origin) }
    #expect(slots.isShort)
    #expect(slots.hasRoom(for: .normal, to: other))
    #expect(!slots.hasRoom(for: .normal, to: origin))
    for _ in 0..<3 { slots.took(.normal, other) }
    #expect(!slots.hasRoom(for: .normal, to: other))
    slots.stirred(.normal, origin)
    #expect(!slots.hasRoom(for: .high, to: other))
    for _ in 0..<2 { slots.freed(.normal, origin, wasQuiet: true) }
    slots.freed(.normal, origin)
    for _ in 0..<3 { slots.freed(.normal, other) }
    #expect(slots.running == 0)
    #expect(slots.hasRoom(for: .normal, to: origin))
  }

  @Test("D52: however many stand still, no more than twice the slots are taken")
  func quietBound() {
    var slots = filled(high: 0, normal: 0)
    var taken = 0
    for number in 0..<20 {
      let origin = Origin(text: "https://h\(number):443")
      guard slots.hasRoom(for: .normal, to: origin) else { break }
      slots.took(.normal, origin)
      slots.fellQuiet(.normal, origin)
      taken += 1
    }
    #expect(taken == 8)
  }

  @Test("D51: what is known of origins is bounded, and never forgotten of one in use")
  func bounded() {
    var slots = filled(high: 0, normal: 1)
    for number in 0..<2000 {
      let origin = Origin(text: "https://h\(number):443")
      slots.took(.normal, origin, at: Int64(number))
      slots.freed(.normal, origin)
    }
    #expect(slots.origins.count <= 258)
    #expect(slots.running(to: origin) == 1)
    #expect(slots.origins[Origin(text: "https://h1999:443")] != nil)
  }
}

extension Slots {
  static let anAttempt = AttemptID(entry: 1, generation: 1, ordinal: 1)

  @discardableResult
  mutating func took(
    _ priority: Descriptor.Priority, _ origin: Origin, at steady: Int64 = 0
  ) -> OriginLoad.Attempt {
    took(priority, Slots.anAttempt, to: origin, at: steady)
  }

  mutating func freed(_ priority: Descriptor.Priority, _ origin: Origin, wasQuiet: Bool = false) {
    freed(priority, Slots.anAttempt, to: origin, wasQuiet: wasQuiet)
  }
}
