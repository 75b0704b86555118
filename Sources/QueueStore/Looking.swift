package import QueueModel

/// What only people ask for: none of it is needed to run the queue.
extension Reader {
  /// What the queue's clocks say now, whether or not a process serves it.
  package func moment() throws(StoreError) -> Moment {
    QueueTime.moment(goingOnFrom: try tables.meta.required())
  }

  /// Every question of `work` sees the same commit.
  package func snapshot<Value>(_ work: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    try tables.connection.execute("BEGIN")
    do throws(StoreError) {
      let value = try work()
      try tables.connection.execute("COMMIT")
      return value
    } catch {
      // The error that is told is the first one.
      try? tables.connection.execute("ROLLBACK")
      throw error
    }
  }

  /// Diagnostics that nobody took yet with numbers above `number`, oldest first. They stay.
  package func diagnostics(after number: Int64 = 0) throws(StoreError) -> [(
    number: Int64, record: Diagnostic
  )] {
    try tables.diagnostics.all(after: number)
  }

  /// The outcomes of an entry that nobody has acknowledged, oldest first.
  package func outcomes(of entry: Entry) throws(StoreError) -> [JournaledOutcome] {
    try tables.outcomes.outcomes(ofEntry: entry.number)
  }
}
