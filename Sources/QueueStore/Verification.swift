import Glibc
import JSONText
import QueueModel

/// What is wrong with a database and its bodies, found by reading all of it.
package struct Verification: Sendable {
  /// One thing that was looked at.
  package struct Check: Sendable {
    package var name: String
    /// Rows or files that it looked at.
    package var looked: Int64
    /// One line each, for people; empty when all is well.
    package var problems: [String]

    package init(name: String, looked: Int64, problems: [String]) {
      self.name = name
      self.looked = looked
      self.problems = problems
    }
  }

  package struct Unnamed: Sendable {
    /// Byte for byte as far as it is UTF-8.
    package var path: String
    package var bytes: Int64
  }

  package var checks: [Check] = []
  /// Body files that no row names: of copies that are being made, or left over. Not wrong by themselves.
  package var unnamed: [Unnamed] = []

  package var holds: Bool { checks.allSatisfy(\.problems.isEmpty) }

  package init() {}
}

extension Reader {
  /// Reads everything, in one snapshot; changes nothing (D37, D39). Takes as long as the database is large.
  package func verify() throws(StoreError) -> Verification {
    var verification = Verification()
    var files: [(name: String, entry: String, length: Int64)] = []
    try snapshot { () throws(StoreError) in
      verification.checks.append(try integrity())
      verification.checks.append(try foreignKeys())
      verification.checks.append(try consequences())
      verification.checks.append(try entryRows(&files))
      verification.checks.append(try outcomeRows())
      verification.checks.append(try bucketCounts())
      verification.checks.append(try groupCounts())
      verification.checks.append(try dependencies())
      verification.checks.append(try lanePlaces())
      verification.checks.append(try partRows())
      verification.checks.append(try settingRows())
      verification.checks.append(try diagnosticRows())
    }
    verification.checks.append(try bodyFiles(files))
    verification.unnamed = try unnamedFiles()
    return verification
  }

  private func integrity() throws(StoreError) -> Verification.Check {
    let found = try Statement(tables.connection, "PRAGMA integrity_check").all { $0.text() }
    let pages = try tables.connection.integer("PRAGMA page_count") ?? 0
    return Verification.Check(name: "pages", looked: pages, problems: found == ["ok"] ? [] : found)
  }

  private func foreignKeys() throws(StoreError) -> Verification.Check {
    let found = try Statement(tables.connection, "PRAGMA foreign_key_check").all { row in
      "row \(row.text()) \(row.bits()) names one that is not in \(row.text())"
    }
    return Verification.Check(name: "references", looked: 0, problems: found)
  }

  /// What the ends of entries mean for others, and is still to be carried out.
  private func consequences() throws(StoreError) -> Verification.Check {
    let looked = try tables.connection.integer("SELECT count(*) FROM consequence") ?? 0
    let found = try Statement(
      tables.connection,
      "SELECT id || ': its end cannot be read' FROM consequence WHERE NOT json_valid(ifnull(outcome, '{}'))"
    ).all { $0.text() }
    return Verification.Check(name: "consequences", looked: looked, problems: found)
  }

  /// Every entry can be read, and has the bytes of a body that lies in the database.
  func entryRows(
    _ files: inout [(name: String, entry: String, length: Int64)]
  ) throws(StoreError) -> Verification.Check {
    var check = Verification.Check(name: "entries", looked: 0, problems: [])
    let rows = Statement(
      tables.connection,
      """
      SELECT e.number, e.id, e.body_length, e.body_file, e.body_place = 'row', length(t.body),
        iif(e.body_kind = 'data', t.body, NULL)
      FROM entry e LEFT JOIN entry_text t ON t.number = e.number
      WHERE e.number >= ? ORDER BY e.number LIMIT 512
      """)
    // A damaged row can have any number.
    var next: Int64? = .min
    while let first = next {
      let page = try rows.all({ $0.bind(first) }) { row in
        (
          number: row.bits(), id: row.text(), length: row.bits(), file: row.optionalText(),
          isInRow: row.bool(), stored: row.optionalBits(),
          isRead: row.optionalBytes().map { (try? JSON(checking: $0)) != nil } ?? true
        )
      }
      next = page.last.flatMap { $0.number < .max ? $0.number + 1 : nil }
      for row in page {
        check.looked += 1
        if try tables.entries.entry(number: row.number) == nil {
          check.problems.append("\(row.id): the row cannot be read")
        }
        if !row.isRead { check.problems.append("\(row.id): its body is no JSON any more") }
        if let file = row.file { files.append((file, row.id, row.length)) }
        if row.isInRow, row.stored != row.length {
          let stored = row.stored.map { "\($0)" } ?? "none"
          check.problems.append("\(row.id): has \(stored) of the \(row.length) bytes of its body")
        }
      }
    }
    return check
  }

  func outcomeRows() throws(StoreError) -> Verification.Check {
    let events = try Statement(tables.connection, "SELECT event_id FROM outcome ORDER BY number").all {
      $0.text()
    }
    var check = Verification.Check(name: "outcomes", looked: Int64(events.count), problems: [])
    for event in events where try tables.outcomes.journaled(eventID: event) == nil {
      check.problems.append("outcome \(event) cannot be read")
    }
    return check
  }

  /// What the table of buckets says against what the rows of entries do.
  private func bucketCounts() throws(StoreError) -> Verification.Check {
    let names = [
      "queued", "held", "running", "awaiting_auth", "released", "completed", "error", "cancelled", "waking",
      "due", "expiry", "next_part",
    ]
    let rows = Statement(
      tables.connection,
      """
      SELECT b.key, b.origin, b.queued, b.held, b.running, b.awaiting_auth, b.released, b.completed, b.error,
        b.cancelled, b.waking, ifnull(b.due, -1), ifnull(b.expiry, -1), ifnull(b.next_part, -1),
        total(e.state = 'queued'), total(e.state = 'held'), total(e.state = 'running'),
        total(e.state = 'awaiting-auth' AND e.parked_revision >= b.covering),
        total(e.state = 'awaiting-auth' AND e.parked_revision < b.covering),
        total(e.state = 'completed'), total(e.state = 'error'), total(e.state = 'cancelled'),
        total(e.outage IS NOT NULL), ifnull(min(e.due), -1),
        ifnull(min(CASE WHEN e.state IN ('queued', 'held', 'awaiting-auth') THEN e.expires_at END), -1),
        ifnull(min(p.next), -1)
      FROM bucket b LEFT JOIN entry e ON e.bucket = b.number LEFT JOIN parts p ON p.number = e.number
      GROUP BY b.number ORDER BY b.number
      """)
    var check = Verification.Check(name: "counts", looked: 0, problems: [])
    try rows.each({ _ in }) { row in
      check.looked += 1
      let bucket = "key \(row.text()) to \(row.text())"
      let told = names.map { _ in row.int() }
      let counted = names.map { _ in row.int() }
      for (name, (told, counted)) in zip(names, zip(told, counted)) where told != counted {
        check.problems.append("\(bucket): \(name) is \(told), its entries say \(counted)")
      }
      return true
    }
    return check
  }

  /// Each file is there with its length. A row that went meanwhile took its file along.
  private func bodyFiles(
    _ files: [(name: String, entry: String, length: Int64)]
  ) throws(StoreError) -> Verification.Check {
    var check = Verification.Check(name: "bodies", looked: Int64(files.count), problems: [])
    for (name, entry, length) in files {
      let found = folder.status(of: name)
      if let found, found.st_size == Int(length), found.st_mode & S_IFMT == S_IFREG { continue }
      guard try hasRow(name) else { continue }
      let problem = found.map { "has \($0.st_size) of the \(length) bytes" } ?? "is not there"
      check.problems.append("\(entry): its body \(name) \(problem)")
    }
    return check
  }

  private func hasRow(_ name: String) throws(StoreError) -> Bool {
    try Statement(tables.connection, "SELECT 1 FROM entry WHERE body_file = ?").first({ $0.bind(name) }) {
      $0.bool()
    } ?? false
  }

  /// In the folder of this database, and in those of others that lie beside it (D37).
  private func unnamedFiles() throws(StoreError) -> [Verification.Unnamed] {
    var unnamed: [Verification.Unnamed] = []
    try each(in: folder.queueDirectory) { name, status throws(StoreError) in
      guard status.st_mode & S_IFMT == S_IFDIR, BodyFolder.isFolder(name) else { return }
      let path = "\(folder.queueDirectory)/\(name)"
      try each(in: path) { file, status throws(StoreError) in
        if path == folder.path, try tables.bodies.isNamed(file) { return }
        unnamed.append(Verification.Unnamed(path: "\(name)/\(file)", bytes: Int64(status.st_size)))
      }
    }
    return unnamed
  }

  private func each(
    in path: String, _ look: (String, stat) throws(StoreError) -> Void
  ) throws(StoreError) {
    do {
      let listing = try DirectoryListing(path)
      while let name = try listing.next().get() {
        guard let status = listing.status(of: name) else { continue }
        try look(String(decoding: name, as: UTF8.self), status)
      }
    } catch let error as SystemFailure {
      throw .unusable(reason: "\(path) cannot be read", errno: error.number)
    } catch let error as StoreError {
      throw error
    } catch {
      throw .aborted("\(type(of: error))")
    }
  }
}
