import QueueEngine
import QueueModel

extension Simulation {
  /// What the host of a simulation has been told, and the rules that hold for it.
  struct View {
    private(set) var states: [EntryID: Row.State] = [:]
    /// The newest generation of each id that still has to settle, or has.
    private(set) var accepted: [EntryID: Int64] = [:]
    /// Generations with an outcome.
    private(set) var settled: [EntryID: Set<Int64>] = [:]
    private var deliveries: [String: Int64] = [:]
    private var outcomes: [String: EntryID] = [:]
    private var done: Set<String> = []
    private var requestIDs: Set<String> = []

    var unacknowledged: [String] { outcomes.keys.filter { !done.contains($0) }.sorted() }

    func told(_ id: EntryID) -> String { states[id]?.rawValue ?? "nothing" }

    mutating func accepted(_ name: String, _ answer: EnqueueAnswer) throws {
      let id = EntryID(name)
      states[id] = answer.row.state
      switch answer.disposition {
      case .created:
        accepted[id] = 1
        settled[id] = []
      case .replaced, .reopened:
        if let before = accepted[id], answer.generation != before + 1 {
          throw Broken(rule: "\(id) went from generation \(before) to \(answer.generation)")
        }
        accepted[id] = answer.generation
      case .resumed, .redelivered, .kept:
        if accepted[id] != answer.generation { throw Broken(rule: "\(id) changed its generation") }
      }
    }

    mutating func retried(_ row: Row, generation: Int64) throws {
      states[row.id] = row.state
      guard let before = accepted[row.id], (before...before + 1).contains(generation) else {
        throw Broken(rule: "\(row.id) was retried and is of generation \(generation)")
      }
      accepted[row.id] = generation
    }

    mutating func acknowledged(_ eventID: String) { done.insert(eventID) }

    /// A new process: its host reads the rows.
    mutating func startedAnew(_ rows: [Row]) {
      states = Dictionary(rows.map { ($0.id, $0.state) }) { $1 }
    }

    mutating func take(_ event: HostEvent) throws {
      switch event {
      case .state(let row): states[row.id] = row.state
      case .progress(let id, let sent, let total):
        if sent > total { throw Broken(rule: "\(id) has sent \(sent) of \(total)") }
      case .resync, .group, .groupSettled: break
      case .attempt(let event):
        guard requestIDs.insert(event.requestID).inserted else {
          throw Broken(rule: "two attempt events for one request")
        }
      case .settled(let outcome, let count): try take(outcome, count)
      }
    }

    private mutating func take(_ outcome: Outcome, _ count: Int64) throws {
      let eventID = outcome.eventID
      if case .error(.unknown, let message, _) = outcome.settlement {
        throw Broken(rule: "\(outcome.id) ended for no reason of the host's or the server's: \(message)")
      }
      if done.contains(eventID) { throw Broken(rule: "delivered after its acknowledgement") }
      if count != (deliveries[eventID] ?? 0) + 1 {
        throw Broken(rule: "delivery \(count) after \(deliveries[eventID] ?? 0)")
      }
      deliveries[eventID] = count
      let isNew = outcomes.updateValue(outcome.id, forKey: eventID) == nil
      if isNew, settled[outcome.id, default: []].insert(outcome.generation).inserted == false {
        throw Broken(rule: "\(outcome.id) settled twice in generation \(outcome.generation)")
      }
    }
  }
}
