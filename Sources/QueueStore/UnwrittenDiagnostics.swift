import QueueModel

/// Records that could not be stored yet, and how many of them the running transaction stores. In memory, the
/// newest 50.
final class UnwrittenDiagnostics {
  private var records: [Diagnostic] = []
  private var countInTransaction = 0

  var isEmpty: Bool { records.isEmpty }

  func add(_ diagnostic: Diagnostic) {
    records.append(diagnostic)
    records.removeFirst(max(0, records.count - DiagnosticTable.limit))
  }

  /// Stores them with the running transaction, once.
  func store(in table: DiagnosticTable) throws(StoreError) {
    for record in records.dropFirst(countInTransaction) { try table.add(record, isBoot: false) }
    countInTransaction = records.count
  }

  func transactionEnded(committed: Bool) {
    if committed { records.removeFirst(countInTransaction) }
    countInTransaction = 0
  }

  /// Every record, oldest first, and forgets them.
  func takeAll() -> [Diagnostic] {
    defer { records = [] }
    return records
  }
}
