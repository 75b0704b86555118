import QueueModel
import QueueStore

extension Turn {
  mutating func cancel(_ id: EntryID, _ reply: @escaping Completion<Void>, _ writer: Writer)
    throws(StoreError)
  {
    answer(reply, ())
    guard let entry = try writer.entry(id: id) else { return }
    mustSync()
    try cancel(entry, writer)
  }

  /// Settles a live entry; forgets a settled one with its outcomes.
  mutating func cancel(_ entry: Entry, _ writer: Writer) throws(StoreError) {
    switch entry.state {
    case .queued, .held, .running, .sending, .awaitingAuth:
      try apply(state.shown(entry).cancelled(now: now, randomness: engine.randomness), from: entry, writer)
    case .settled:
      for eventID in try writer.deleteOutcomes(ofEntry: entry.number) {
        state.letGo(eventID)
      }
      try delete(entry, leavesGroup: true, writer)
    }
  }
}
