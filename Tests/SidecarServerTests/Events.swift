import JSONText
import QueueEngine
import QueueModel

/// Rows and events as the engine hands them over, built from descriptors as hosts write them.
enum Events {
  static func row(
    _ id: String, sent: Int64 = 0, state: Row.State = .running, varsBytes: Int = 2
  ) throws -> Row {
    let params = JSON { writer in writer.object { $0.member("url", "http://127.0.0.1:9/") } }
    let vars = JSON { writer in
      writer.array { $0.value(String(repeating: "v", count: max(varsBytes - 4, 0))) }
    }
    let enqueue = Enqueue(
      id: try EntryID(reading: JSON { $0.value(id) }, path: "id"),
      key: try EntryKey(reading: JSON { $0.value("k") }, path: "key"), vars: vars,
      request: try Descriptor(reading: params))
    let moment = Moment(wall: 1, steady: 1)
    let entry = Entry.created(
      number: 1, from: enqueue, body: StagedBody.none, gates: Gates(), lifetimeMs: 1000, now: moment,
      randomness: Zeros()
    ).entry
    var row = Row(entry, gates: Gates(), now: moment)
    row.state = state
    row.bytesSent = sent
    return row
  }

  static func id(_ text: String) throws -> EntryID {
    try EntryID(reading: JSON { $0.value(text) }, path: "id")
  }

  private struct Zeros: Randomness {
    func next() -> UInt64 { 0 }
  }
}
