import CSQLite
import Foundation
import Glibc
import QueueModel
import Testing

@testable import QueueStore

private struct Refused: Error {}

@Suite("One transaction")
struct TransactionTests {
  @Test(
    "D35: what throws takes back entry, outcome, body and settings; numbers stay given"
  )
  func rollback() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let kept = try entry(1)
    try store.write(durable: true) { writer in
      #expect(writer.takeNumber() == 1)
      try writer.insert(kept)
    }
    let error = #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        let number = writer.takeNumber()
        try writer.insert(entry(number, body: StagedBody(kind: .data, length: 1, place: .row)))
        try writer.putRowBody(number, [1])
        _ = try writer.append(outcome("x", of: kept))
        try writer.save(wifiOnly: true)
        try writer.release(StagedBody(kind: .file, length: 1, place: .file(name: "f")), of: 1)
        try writer.delete(kept)
        try #expect(writer.counts().map(\.queued) == [1])
        throw Refused()
      }
    }
    guard case .aborted? = error else { throw try #require(error) }
    try #expect(store.reader.entries(after: 0, limit: 9).map(\.entry.number) == [1])
    try #expect(store.reader.outcomes(after: 0, keys: nil, limit: 9, maxBytes: 9).isEmpty)
    try #expect(store.reader.gates().wifiOnly == false)
    #expect(store.turn == 1)
    try withDatabase(of: directory.queue) { database in
      try #expect(database.integer("SELECT count(body) FROM entry_text") == 0)
      try #expect(database.integer("SELECT count(*) FROM doomed") == 0)
    }
    try store.write(durable: true) { #expect($0.takeNumber() == 3) }
    try expectExactBuckets(directory.queue)
  }

  @Test("D35: a transaction that changed nothing is no turn")
  func emptyTransaction() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    try store.write(durable: true) { _ = try $0.entry(number: 1) }
    #expect(store.turn == 0)
    try store.write(durable: true) { try $0.insert(entry(1)) }
    #expect(store.turn == 1)
    try #expect(openStore(directory.queue).turn == 1)
  }

  @Test("D35: a commit is synced when it must be, and only then; one that lets go of a file always is")
  func syncs() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    nonisolated(unsafe) var syncs = 0
    store.tables.connection.syncLog = { handle in
      syncs += 1
      return outtray_sync_log(handle)
    }
    try store.write(durable: false) { try $0.insert(entry(1)) }
    #expect(syncs == 0)
    try store.write(durability: { .logged }) { try $0.insert(entry(2)) }
    #expect(syncs == 0)
    try store.write(durable: true) { try $0.insert(entry(3)) }
    #expect(syncs == 1)
    try store.write(durable: true) { _ in }
    #expect(syncs == 1)
    try store.write(durable: false) {
      try $0.release(StagedBody(kind: .file, length: 1, place: .file(name: "f")), of: 1)
    }
    #expect(syncs == 2)
  }

  @Test(
    "D36: a failed sync is not tried again; the database that was opened anew shows that the change stands")
  func failedSyncStands() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let failing = store.tables.connection
    nonisolated(unsafe) var syncs = 0
    failing.syncLog = { _ in
      syncs += 1
      return SQLITE_IOERR | 4 << 8
    }
    try store.write(durable: true) { writer in
      #expect(writer.takeNumber() == 1)
      try writer.insert(entry(1))
    }
    #expect(syncs == 1)
    #expect(store.tables.connection !== failing)
    try #expect(store.reader.entry(number: 1) != nil)
    // It lies in the database itself now, not only in a log that could not be synced.
    try #expect(bytes(of: "\(directory.queue)/queue.db-wal").isEmpty)
    try #expect(store.stands(1))
    try #expect(!store.stands(2))
    store.tables.connection.syncLog = outtray_sync_log
    try store.write(durable: true) { writer in
      #expect(writer.takeNumber() == 2)
      try writer.insert(entry(2))
    }
    #expect(store.turn == 2)
  }

  @Test(
    "D36: a start writes the log again, byte for byte: a sync of an earlier process may have failed over it")
  func logIsWrittenAgain() throws {
    let directory = try TemporaryDirectory()
    let log = "\(directory.queue)/queue.db-wal"
    do {
      let store = try openStore(directory.queue)
      try store.write(durable: true) { try $0.insert(entry(1)) }
    }
    let before = try bytes(of: log)
    #expect(!before.isEmpty)
    let old = Date(timeIntervalSince1970: 1_000_000_000)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: log)
    let store = try openStore(directory.queue)
    try #expect(store.reader.entry(number: 1) != nil)
    try #expect(bytes(of: log).starts(with: before))
    let changed = try FileManager.default.attributesOfItem(atPath: log)[.modificationDate] as? Date
    #expect(changed != old)
  }

  @Test("D36: what a sync failed over while the log was copied is written again before it is believed")
  func failedSyncOfCopying() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let failing = store.tables.connection
    store.idleLogLimit = 0
    try store.write(durable: false) { try $0.insert(entry(1)) }
    failing.copyLog = { _, _ in (SQLITE_IOERR | 4 << 8, 0, 0) }
    #expect(throws: StoreError.self) { try store.checkpointIfNeeded(idle: true) }
    try store.write(durable: true) { _ in }
    #expect(store.tables.connection !== failing)
    // It was written again, and lies in the database itself now.
    try #expect(bytes(of: "\(directory.queue)/queue.db-wal").isEmpty)
    try #expect(store.reader.entry(number: 1) != nil)
  }

  @Test("D36: while the database cannot be opened again the change is unsettled, and nothing is written")
  func failedSyncUnsettled() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    store.tables.connection.syncLog = { _ in SQLITE_IOERR | 4 << 8 }
    let database = "\(directory.queue)/queue.db"
    let error = #expect(throws: StoreError.self) {
      try store.write(durable: true) { writer in
        try writer.insert(entry(1))
        // The new connection will find another program's file.
        try FileManager.default.moveItem(atPath: database, toPath: "\(database).away")
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
      }
    }
    guard case .unsettled(let turn, _)? = error else { throw try #require(error) }
    #expect(throws: StoreError.self) { try store.stands(turn) }
    #expect(throws: StoreError.self) {
      try store.write(durable: false) { _ in Issue.record("nothing may be written") }
    }
    try FileManager.default.removeItem(atPath: database)
    try FileManager.default.moveItem(atPath: "\(database).away", toPath: database)
    try #expect(store.stands(turn))
    try #expect(store.reader.entry(number: 1) != nil)
  }

  @Test("D35: a process killed between any two steps leaves every commit whole and nothing else")
  func killed() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    // A body so large that pages of an open transaction reach the log.
    let large = [UInt8](repeating: 7, count: 65_536)
    var copies: [(path: String, expected: [String])] = []
    func picture(_ store: QueueStore) throws -> [String] {
      try store.reader.entries(after: 0, limit: 1000).map { "\($0.entry.number) \($0.entry.state)" }
        + store.reader.outcomes(after: 0, keys: nil, limit: 100, maxBytes: .max).map(\.outcome.eventID)
    }
    for round in 0..<8 {
      let committed = try picture(store)
      try store.write(durable: round % 2 == 0) { writer in
        for _ in 0..<40 {
          let number = writer.takeNumber()
          try writer.insert(
            entry(number, body: StagedBody(kind: .data, length: Int64(large.count), place: .row)))
          try writer.putRowBody(number, large)
        }
        if let old = try writer.entry(number: Int64(round * 40 - 1)) {
          let settled = try entry(old.number, state: .settled(.cancelled, eventID: "event-\(round)"))
          try writer.release(old.body, of: old.number)
          try writer.update(settled, from: old)
          _ = try writer.append(outcome("event-\(round)", of: settled))
        }
        copies.append((try directory.copyOfQueue(), committed))
      }
      copies.append((try directory.copyOfQueue(), try picture(store)))
      if round == 4 {
        try store.checkpointIfNeeded(idle: true)
        copies.append((try directory.copyOfQueue(), try picture(store)))
      }
    }
    for copy in copies {
      let reopened = try openStore(copy.path)
      try #expect(picture(reopened) == copy.expected)
      try #expect(withDatabase(of: copy.path) { try $0.text("PRAGMA integrity_check") } == "ok")
      try expectExactBuckets(copy.path)
    }
  }

  @Test("A-STORE-01: a writer that another program holds up for a moment waits, and begins as a writer")
  func contention() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let path = directory.queue
    let hold = Duration.milliseconds(150)
    let holds = DispatchSemaphore(value: 0)
    let other = Thread {
      try? withDatabase(of: path) { database in
        try database.execute("BEGIN IMMEDIATE; INSERT INTO setting VALUES ('other', '1')")
        holds.signal()
        usleep(150_000)
        try database.execute("COMMIT")
      }
    }
    let began = ContinuousClock.now
    other.start()
    holds.wait()
    try store.write(durable: false) { writer in
      try #expect(writer.entry(number: 1) == nil)
      try writer.insert(entry(1))
    }
    #expect(ContinuousClock.now - began >= hold)
    try #expect(store.reader.entry(number: 1) != nil)
  }

  @Test("D39, A-STORE-02: the log stays bounded, is copied when idle, and shrinks after a reader has held it")
  func boundedLog() throws {
    let directory = try TemporaryDirectory()
    let store = try openStore(directory.queue)
    let log = "\(directory.queue)/queue.db-wal"
    let body = StagedBody(kind: .data, length: 65_536, place: .row)
    try store.write(durable: false) { writer in
      for number in 1...20 { try writer.insert(entry(Int64(number), body: body)) }
    }
    var round: UInt8 = 0
    func write(_ rounds: Int) throws -> Int {
      var longest = 0
      for _ in 0..<rounds {
        // Bytes that are there already are not written again.
        round &+= 1
        let large = [UInt8](repeating: round, count: 65_536)
        try store.write(durable: false) { writer in
          for number in 1...20 { try writer.putRowBody(Int64(number), large) }
        }
        store.rest(idle: false)
        longest = max(longest, try bytes(of: log).count)
      }
      return longest
    }
    try #expect(write(40) < 19 << 20)

    try withDatabase(of: directory.queue) { reader in
      try reader.execute("BEGIN; SELECT * FROM setting")
      try #expect(write(30) > 30 << 20)
      try reader.execute("COMMIT")
    }
    try #expect(write(1) == 0)

    _ = try write(2)
    let before = try bytes(of: log).count
    store.rest(idle: true)
    // Copied, so that the next write begins at its front again.
    _ = try write(1)
    try #expect(bytes(of: log).count == before)
  }
}
