import Glibc
import JSONText
import OuttrayProtocol
import QueueModel
import QueueStore

/// How an entry that somebody waits for has ended.
enum Settlement {
  static let cancelled: Int32 = 2

  /// A wait for the outcome of one generation of an entry, over the ends of processes that serve the queue.
  /// It keeps none of them alive and starts none.
  struct Wait {
    let id: String
    let key: String
    let directory: String
    private let around: Surroundings
    var generation: Int64 = 1
    private var ending: Ending?

    /// What is known of the end.
    private enum Ending {
      /// The members of its `settled` event.
      case outcome(JSON)
      /// Another host has acknowledged the outcome.
      case elsewhere
    }

    init(id: String, key: String, directory: String, _ around: Surroundings) {
      self.id = id
      self.key = key
      self.directory = directory
      self.around = around
    }

    /// Makes this connection one that the outcome comes to.
    func subscribe(_ live: LiveQueue) throws(Failure) {
      try live.subscribe(to: [.settled], key: key)
    }

    /// Until the entry has settled or the process that serves the queue has ended.
    mutating func follow(_ live: LiveQueue) throws(Failure) {
      while ending == nil {
        switch live.next(within: Wait.lookMs) {
        case .ended: return
        case .told(EventName.settled.rawValue, let params): try take(params, live)
        case .told: break
        // Its outcome may have gone to a host that had enqueued it before.
        case nil: try look()
        }
      }
    }

    /// An outcome of another entry of the key goes on to who handles it.
    private mutating func take(_ params: JSON, _ live: LiveQueue) throws(Failure) {
      guard let event = params["eventId"]?.string else { return }
      let isOurs = params["id"]?.string == id && params["generation"]?.integer == generation
      do throws(Failure) {
        try live.call(isOurs ? .ackEvents : .releaseEvents) {
          $0.member("eventIds", [event])
        }
      } catch {
        // The end of the process comes as an event; the outcome stays for the next one.
        guard error.isPassing else { throw error }
        return
      }
      if isOurs { ending = .outcome(params) }
    }

    /// Asks the database.
    private mutating func look() throws(Failure) {
      let queue = try StoredQueue(directory)
      let entry = try queue.ask { reader throws(StoreError) in try reader.entry(id: EntryID(id)) }
      guard let entry, entry.generation == generation else {
        ending = .elsewhere
        return
      }
      guard case .settled = entry.state else { return }
      guard let journaled = try queue.outcome(of: entry) else {
        ending = .elsewhere
        return
      }
      ending = .outcome(journaled.event)
    }

    /// Waits on, tells how it ended, and gives the status.
    mutating func conclude(asJSON: Bool) throws(Failure) -> Int32 {
      var hasSaidSo = false
      while ending == nil {
        if let live = around.live(in: directory) {
          do throws(Failure) {
            try subscribe(live)
            try follow(live)
          } catch {
            guard error.isPassing else { throw error }
          }
        } else {
          around.remarkThatNobodyServes(&hasSaidSo)
          usleep(200_000)
        }
      }
      guard case .outcome(let outcome) = ending else {
        throw Failure(Status.no, "\(Printable.text(id)): another host has taken its outcome")
      }
      try tell(outcome, asJSON: asJSON)
      switch outcome["kind"]?.string.flatMap(Outcome.Kind.init(rawValue:)) {
      case .completed: return Status.success
      case .cancelled: return Settlement.cancelled
      case .error, nil: return Status.no
      }
    }

    private func tell(_ outcome: JSON, asJSON: Bool) throws(Failure) {
      if asJSON { return try around.output.object { OpenEvent.settled.write(outcome, into: &$0) } }
      try around.output.line(OpenEvent.words(of: outcome))
    }

    private static let lookMs: Int64 = 1000
  }
}
