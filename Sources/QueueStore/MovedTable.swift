import QueueModel

/// Names of the caller's files that are still to be removed (D28), noted with the rows that own the bytes.
final class MovedTable {
  private let insert: Statement
  private let select: Statement
  private let delete: Statement
  private var lastNumber: Int64 = 0
  /// Notes up to it were tried in this process; what failed waits for the next start.
  private var triedUpTo: Int64 = 0
  /// Notes that nothing is left to do for.
  private(set) var finished: [Int64] = []
  /// Where their names were.
  private var folders: Set<FilePath> = []

  init(_ connection: Connection) throws(StoreError) {
    insert = Statement(
      connection,
      """
      INSERT INTO moved (number, path, link, device, inode, size, modified_at, changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """)
    select = Statement(
      connection,
      """
      SELECT number, path, link, device, inode, size, modified_at, changed_at FROM moved
      WHERE number > ? ORDER BY number LIMIT ?
      """)
    delete = Statement(connection, "DELETE FROM moved WHERE number = ?")
    let highest = Statement(
      connection,
      "SELECT number FROM moved WHERE number <= \(StatementRow.largest) ORDER BY number DESC LIMIT 1")
    lastNumber = try highest.first { $0.int() } ?? 0
  }

  /// Notes that were not tried yet may be there.
  var hasUntried: Bool { triedUpTo < lastNumber }

  func note(_ source: MovedSource) throws(StoreError) {
    lastNumber += 1
    try insert.run {
      $0.bind(lastNumber)
      $0.bind(blob: source.path.bytes)
      $0.bind(source.link)
      $0.bind(source.identity.device)
      $0.bind(source.identity.inode)
      $0.bind(source.identity.stamp.size)
      $0.bind(source.identity.stamp.modifiedAt)
      $0.bind(source.identity.changedAt)
    }
  }

  /// Removes at most `limit` names that were not tried yet. What could not be removed, with the number of the
  /// failed call.
  func removeSources(_ folder: BodyFolder, limit: Int) throws(StoreError) -> [(FilePath, Int32)] {
    guard hasUntried else { return [] }
    let notes = try select.all({
      $0.bind(triedUpTo)
      $0.bind(Int64(limit))
    }) { MovedTable.read(&$0) }
    var failed: [(FilePath, Int32)] = []
    for (number, source) in notes {
      triedUpTo = number
      if let failure = source.remove(folder) {
        failed.append((source.path, failure))
      } else {
        finished.append(number)
        folders.insert(source.path.folder)
      }
    }
    if notes.count < limit { triedUpTo = lastNumber }
    return failed
  }

  /// Makes the removals survive a power cut: a name that came back after its note is deleted would stay.
  func syncFolders() throws(StoreError) {
    for folder in folders {
      if let number = folder.syncNames() {
        throw .unusable(reason: "the removal of a moved file's name cannot be synced", errno: number)
      }
    }
    folders.removeAll()
  }

  func delete(_ numbers: [Int64]) throws(StoreError) {
    for number in numbers { try delete.run { $0.bind(number) } }
  }

  /// The notes are deleted.
  func forgetFinished() { finished.removeAll() }

  private static func read(_ row: inout StatementRow) -> (Int64, MovedSource) {
    let number = row.int()
    let path = FilePath(bytes: row.bytes())
    let link = row.optionalText()
    let (device, inode, size) = (row.bits(), row.bits(), row.int())
    let (modifiedAt, changedAt) = (row.bits(), row.bits())
    let identity = FileIdentity(
      device: device, inode: inode, stamp: SourceStamp(size: size, modifiedAt: modifiedAt, inode: inode),
      changedAt: changedAt)
    return (number, MovedSource(path: path, link: link, identity: identity))
  }
}
