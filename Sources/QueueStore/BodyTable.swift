import QueueModel

/// Bodies in the database, which lie beside the texts of their entries, and the names of body files that no
/// row needs any more (D27).
final class BodyTable {
  private let put: Statement
  private let select: Statement
  private let doom: Statement
  private let doomed: Statement
  private let forgetDoomed: Statement
  private let naming: Statement

  /// Names were noted that are not unlinked yet, or that an earlier process left.
  private(set) var mayHaveDoomed = true
  /// Names up to here were dealt with since the last one was noted; those among them that are left could not
  /// be unlinked.
  private var passed = ""
  /// This transaction let go of a file. It must be synced before that is unlinked: a power cut could bring
  /// the row back, without its body.
  private(set) var doomsInTransaction = false
  /// Names of files that rows of this transaction took.
  private(set) var claimedInTransaction: [String] = []

  init(_ connection: Connection) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    put = statement("UPDATE entry_text SET body = ? WHERE number = ?")
    select = statement("SELECT body FROM entry_text WHERE number = ?")
    doom = statement("INSERT OR IGNORE INTO doomed (name) VALUES (?)")
    // A file that a name of the caller's still stands for tells that name from another file's (D28), so it
    // goes after it. It takes no room of its own.
    doomed = statement(
      """
      SELECT name FROM doomed
      WHERE name > ? AND NOT EXISTS (SELECT 1 FROM moved WHERE link = doomed.name) ORDER BY name LIMIT ?
      """)
    forgetDoomed = statement("DELETE FROM doomed WHERE name = ?")
    naming = statement(
      """
      SELECT EXISTS (SELECT 1 FROM entry WHERE body_file = ?1)
        OR EXISTS (SELECT 1 FROM doomed WHERE name = ?1)
      """)
  }

  /// Replaces the bytes that the text of the entry has; nil has it without any.
  func put(_ bytes: [UInt8]?, of number: Int64) throws(StoreError) {
    try put.run {
      $0.bind(blob: bytes)
      $0.bind(number)
    }
  }

  func bytes(of number: Int64) throws(StoreError) -> [UInt8]? {
    try select.first({ $0.bind(number) }) { $0.optionalBytes() }
  }

  /// Deletes the bytes of a body in the database, or notes the name of its file.
  func release(_ body: StagedBody, of number: Int64) throws(StoreError) {
    switch body.place {
    case .none, .reference: break
    case .row: try put(nil, of: number)
    case .file(let name): try doom(name)
    }
  }

  /// As `release`, of an entry whose text, and with it a body in the database, goes as well.
  func releaseWithText(_ body: StagedBody) throws(StoreError) {
    if case .file(let name) = body.place { try doom(name) }
  }

  private func doom(_ name: String) throws(StoreError) {
    try doom.run { $0.bind(name) }
    doomsInTransaction = true
  }

  /// A row names the file of the body from this transaction on.
  func claim(_ body: StagedBody) {
    if case .file(let name) = body.place { claimedInTransaction.append(name) }
  }

  /// Whether a row, readable or not, or the list of names to be unlinked has the file.
  func isNamed(_ name: String) throws(StoreError) -> Bool {
    try naming.first({ $0.bind(name) }) { $0.bool() } ?? false
  }

  /// Names of the caller's are gone, so bodies that waited for that may go.
  func namesWereRemoved() { lookAgain() }

  /// Names to be unlinked that were not dealt with. Those that could not be come again when a further one is
  /// noted.
  func doomedNames(limit: Int) throws(StoreError) -> [String] {
    let names = try doomed.all({
      $0.bind(passed)
      $0.bind(Int64(limit))
    }) { $0.text() }
    if names.isEmpty { mayHaveDoomed = false }
    return names
  }

  /// These, the next of `doomedNames`, were unlinked and forgotten, as far as they can be.
  func dealtWith(_ names: [String]) { passed = names.last ?? passed }

  private func lookAgain() {
    mayHaveDoomed = true
    passed = ""
  }

  func forget(doomed name: String) throws(StoreError) {
    try forgetDoomed.run { $0.bind(name) }
  }

  func transactionEnded(committed: Bool) {
    if committed && doomsInTransaction { lookAgain() }
    doomsInTransaction = false
    claimedInTransaction = []
  }
}
