import Testing

@testable import QueueModel

@Suite("Slots")
struct SlotsTests {
  private let origin = Origin(text: "https://h:443")

  private func filled(high: Int, normal: Int, total: Int = 4, reservedHigh: Int = 1) -> Slots {
    var concurrency = Concurrency()
    concurrency.total = total
    concurrency.reservedHigh = reservedHigh
    var slots = Slots(concurrency)
    for _ in 0..<high { slots.took(.high, origin: origin) }
    for _ in 0..<normal { slots.took(.normal, origin: origin) }
    return slots
  }

  @Test("B176, B299, D25: at most 4 at once, at most 3 of them normal")
  func limits() {
    for high in 0...4 {
      for normal in 0...3 where high + normal <= 4 {
        let slots = filled(high: high, normal: normal)
        let hasRoom = high + normal < 4
        #expect(slots.hasRoom == hasRoom)
        #expect(slots.next(highDue: true, normalDue: false) == (hasRoom ? .high : nil))
        #expect(slots.next(highDue: false, normalDue: true) == (hasRoom && normal < 3 ? .normal : nil))
        #expect(slots.next(highDue: false, normalDue: false) == nil)
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
        Issue.record("a slot is free")
        return
      }
      started.append(next)
      slots.took(next, origin: origin)
      slots.freed(next, origin: origin)
    }
    #expect(
      started == [
        .high, .high, .high, .normal, .high, .high, .high, .normal, .high, .high, .high, .normal,
      ])
  }

  @Test("D25: the slot for high stays for high even when normal work has its turn")
  func reservation() {
    var slots = filled(high: 0, normal: 3)
    for _ in 0..<5 {
      #expect(slots.next(highDue: true, normalDue: true) == .high)
      slots.took(.high, origin: origin)
      slots.freed(.high, origin: origin)
    }
    slots.freed(.normal, origin: origin)
    #expect(slots.next(highDue: true, normalDue: true) == .normal)
  }

  @Test("D25: perOrigin limits one origin only")
  func perOrigin() {
    var slots = filled(high: 0, normal: 0)
    let other = Origin(text: "https://other:443")
    #expect(!slots.isFull(origin))
    slots.concurrency.perOrigin = 1
    slots.took(.normal, origin: origin)
    #expect(slots.isFull(origin))
    #expect(!slots.isFull(other))
    slots.freed(.normal, origin: origin)
    #expect(!slots.isFull(origin))
    #expect(slots.running(to: origin) == 0)
  }

  @Test("D25: a smaller total starts nothing until enough have ended")
  func shrunk() {
    var slots = filled(high: 0, normal: 3)
    slots.concurrency.total = 2
    #expect(!slots.hasRoom)
    #expect(slots.next(highDue: true, normalDue: true) == nil)
    slots.freed(.normal, origin: origin)
    slots.freed(.normal, origin: origin)
    #expect(slots.next(highDue: false, normalDue: true) == nil)
    #expect(slots.next(highDue: true, normalDue: true) == .high)
  }
}
