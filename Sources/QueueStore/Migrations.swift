import CSQLite

/// The schema as numbered steps (D39): append only, one that was released is never edited.
enum Migrations {
  /// `Outr` in ASCII, in the header of every database of ours.
  static let applicationID: Int64 = 0x4F75_7472

  static let all: [String] = ["\(first)\n\(links)"]

  /// Brings the database to the newest schema. All in one transaction, with what `completing` adds: a schema
  /// that a crash left without its row in `meta` would look damaged.
  static func apply(
    to connection: Connection, from version: Int64, completing: () throws(StoreError) -> Void
  ) throws(StoreError) {
    guard version < all.count else { return }
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      for step in all[Int(version)...] { try connection.execute(step) }
      try connection.execute("PRAGMA application_id = \(applicationID); PRAGMA user_version = \(all.count)")
      try completing()
      try connection.execute("COMMIT")
    } catch {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
      throw error
    }
  }

  private static let settled = anyOf("state", "completed", "error", "cancelled")

  /// Columns that are set in the states named, and NULL in every other.
  private static let columnsOfStates: [(states: [String], columns: [String])] = [
    (["queued"], ["due", "is_backoff", "spread"]),
    (["held"], ["held_unmet", "held_behind"]),
    (["running"], ["attempt_ordinal", "attempt_request_id", "attempt_revision"]),
    (["awaiting-auth"], ["parked_revision"]),
    (["completed", "error", "cancelled"], ["settled_event"]),
  ]

  /// SQL that is true when the state is one that there is and has its columns alone. One condition that asks
  /// for the state once: it is part of each statement that writes a row.
  private static var hasColumnsOfState: String {
    let cases = columnsOfStates.flatMap { states, own in
      let others = columnsOfStates.flatMap(\.columns).filter { !own.contains($0) }
      let queuedOnly = states == ["queued"] ? [] : ["outage"]
      let conditions =
        own.map { "\($0) IS NOT NULL" } + (others + queuedOnly).map { "\($0) IS NULL" }
      return states.map { "WHEN '\($0)' THEN \(conditions.joined(separator: " AND "))" }
    }
    return "CASE state \(cases.joined(separator: " ")) ELSE 0 END"
  }

  // A state is its wire string, times are ms, texts are UTF-8 that is compared byte by byte (BINARY, the
  // default). Columns that belong to one state are set in that state and NULL in every other, as in
  // Entry.State. Long texts lie beside their row, so that a change of state rewrites a short row only.
  private static let first = """
    CREATE TABLE meta (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      identity TEXT NOT NULL,
      turn INTEGER NOT NULL,
      boot_id TEXT NOT NULL,
      steady_offset INTEGER NOT NULL,
      wall INTEGER NOT NULL,
      steady INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE bucket (
      number INTEGER PRIMARY KEY,
      key TEXT NOT NULL,
      origin TEXT NOT NULL,
      priority TEXT NOT NULL CHECK (priority IN ('high', 'normal')),
      -- -1 follows the queue's setting
      wifi_only INTEGER NOT NULL CHECK (wifi_only IN (-1, 0, 1)),
      -- holds live members of this group, which is paused, or was and is not yet sorted back; else ''
      paused_group TEXT NOT NULL,
      queued INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0),
      held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
      running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
      awaiting_auth INTEGER NOT NULL DEFAULT 0 CHECK (awaiting_auth >= 0),
      released INTEGER NOT NULL DEFAULT 0 CHECK (released >= 0),
      completed INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
      error INTEGER NOT NULL DEFAULT 0 CHECK (error >= 0),
      cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
      waking INTEGER NOT NULL DEFAULT 0 CHECK (waking BETWEEN 0 AND queued),
      due INTEGER,
      expiry INTEGER,
      -- the newest header patch that covers the bucket
      covering INTEGER NOT NULL,
      served INTEGER NOT NULL DEFAULT 0,
      -- the earliest time at which an entry that has parts in flight may send one more
      next_part INTEGER CHECK (next_part IS NULL OR running > 0),
      CHECK (due IS NULL OR queued > 0),
      UNIQUE (key, origin, priority, wifi_only, paused_group)
    ) STRICT;
    CREATE INDEX bucket_due ON bucket (due) WHERE due IS NOT NULL;
    CREATE INDEX bucket_expiry ON bucket (expiry) WHERE expiry IS NOT NULL;
    CREATE INDEX bucket_released ON bucket (priority) WHERE released > 0;
    CREATE INDEX bucket_next_part ON bucket (next_part) WHERE next_part IS NOT NULL;
    CREATE INDEX bucket_waking ON bucket (origin) WHERE waking > 0;

    CREATE TABLE entry (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      id TEXT NOT NULL UNIQUE CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 256),
      bucket INTEGER NOT NULL REFERENCES bucket (number),
      group_number INTEGER REFERENCES member_group (number),
      weight REAL CHECK (weight > 0),
      deadline_ms INTEGER CHECK (deadline_ms > 0),
      first_attempt_at INTEGER CHECK (first_attempt_at IS NULL OR attempts > 0),
      state TEXT NOT NULL,
      due INTEGER,
      is_backoff INTEGER CHECK (is_backoff IN (0, 1)),
      outage INTEGER,
      spread REAL CHECK (spread >= 0 AND spread < 1),
      attempt_ordinal INTEGER,
      attempt_request_id TEXT,
      attempt_revision INTEGER,
      parked_revision INTEGER,
      -- entries it comes after that have not completed, and whether another one is before it in its lane
      held_unmet INTEGER CHECK (held_unmet >= 0),
      held_behind INTEGER CHECK (held_behind IN (0, 1)),
      settled_event TEXT,
      generation INTEGER NOT NULL CHECK (generation > 0),
      attempts INTEGER NOT NULL CHECK (attempts >= 0),
      header_revision INTEGER NOT NULL CHECK (header_revision >= 0),
      expires_at INTEGER NOT NULL,
      body_kind TEXT NOT NULL CHECK (\(anyOf("body_kind", "none", "data", "form", "file", "parts"))),
      body_place TEXT NOT NULL CHECK (\(anyOf("body_place", "none", "row", "file", "reference"))),
      body_length INTEGER NOT NULL CHECK (body_length >= 0),
      body_file TEXT CHECK ((body_file IS NOT NULL) = (body_place = 'file')),
      body_type TEXT,
      sources TEXT,
      -- acknowledged, and still needed by others (D42)
      is_kept INTEGER NOT NULL CHECK (is_kept IN (0, 1)),
      data_digest INTEGER CHECK (data_digest IS NULL OR is_kept = 1),
      idempotency_key TEXT,
      streak INTEGER NOT NULL CHECK (streak >= 0),
      cut_answers INTEGER NOT NULL CHECK (cut_answers >= 0),
      followed_reuse INTEGER NOT NULL CHECK (followed_reuse IN (0, 1)),
      rules TEXT,
      bytes_sent INTEGER NOT NULL CHECK (bytes_sent >= 0),
      last_request_id TEXT,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      -- the connection that enqueued it last
      host INTEGER,
      -- the turn that wrote the row
      turn INTEGER NOT NULL,
      CHECK (\(hasColumnsOfState)),
      CHECK (held_unmet > 0 OR held_behind = 1),
      CHECK (is_kept = 0 OR state = 'completed' AND body_place = 'none'),
      CHECK (body_kind <> 'none' OR body_place = 'none' AND body_length = 0),
      CHECK (body_place <> 'row' OR body_length <= 65536),
      -- only what has settled can have let go of its body
      CHECK (body_kind = 'none' OR body_place <> 'none' OR \(settled))
    ) STRICT;
    CREATE INDEX entry_bucket ON entry (bucket);
    CREATE INDEX entry_due ON entry (bucket, due) WHERE due IS NOT NULL;
    CREATE INDEX entry_expiry ON entry (bucket, expires_at)
      WHERE \(mayExpire());
    CREATE INDEX entry_parked ON entry (bucket, parked_revision) WHERE parked_revision IS NOT NULL;
    CREATE INDEX entry_outage ON entry (bucket, outage, spread) WHERE outage IS NOT NULL;
    -- clean-up asks for each file whether a row names it (D37)
    CREATE INDEX entry_body ON entry (body_file) WHERE body_file IS NOT NULL;
    CREATE INDEX entry_running ON entry (number) WHERE state = 'running';
    -- all members by number; live ones by number and by bucket; those that failed, and those that are kept
    CREATE INDEX entry_group ON entry (group_number) WHERE group_number IS NOT NULL;
    CREATE INDEX entry_live ON entry (group_number) WHERE group_number IS NOT NULL AND settled_event IS NULL;
    CREATE INDEX entry_member ON entry (group_number, bucket)
      WHERE group_number IS NOT NULL AND settled_event IS NULL;
    CREATE INDEX entry_failed ON entry (group_number) WHERE group_number IS NOT NULL AND state = 'error';
    CREATE INDEX entry_kept ON entry (group_number) WHERE group_number IS NOT NULL AND is_kept = 1;
    CREATE INDEX entry_headers ON entry (header_revision) WHERE settled_event IS NULL;

    CREATE TABLE member_group (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      name TEXT NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 256),
      generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0),
      -- set while no member is live
      settled_event TEXT,
      is_acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (is_acknowledged IN (0, 1)),
      rows INTEGER NOT NULL DEFAULT 0 CHECK (rows >= 0),
      live INTEGER NOT NULL DEFAULT 0 CHECK (live BETWEEN 0 AND rows),
      -- members that have settled, also those whose rows have gone
      completed INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
      error INTEGER NOT NULL DEFAULT 0 CHECK (error >= 0),
      cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
      -- sums, which may be off by what doubles lose
      weight REAL NOT NULL DEFAULT 0,
      done REAL NOT NULL DEFAULT 0,
      bytes_sent REAL NOT NULL DEFAULT 0,
      total_bytes REAL NOT NULL DEFAULT 0,
      deadline_ms INTEGER CHECK (deadline_ms > 0),
      first_attempt_at INTEGER,
      -- the two together
      deadline INTEGER,
      -- of the member that changed last
      key TEXT NOT NULL,
      -- the connection that enqueued the newest member
      host INTEGER,
      -- the number up to which kept members have gone; NULL when none are to go
      forgetting INTEGER,
      CHECK (is_acknowledged = 0 OR settled_event IS NOT NULL)
    ) STRICT;
    CREATE INDEX member_group_deadline ON member_group (deadline) WHERE deadline IS NOT NULL AND live > 0;
    CREATE INDEX member_group_forgetting ON member_group (number) WHERE forgetting IS NOT NULL;

    -- Live members of a group in a bucket.
    CREATE TABLE member (
      group_number INTEGER NOT NULL,
      bucket INTEGER NOT NULL,
      queued INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0),
      running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
      awaiting_auth INTEGER NOT NULL DEFAULT 0 CHECK (awaiting_auth >= 0),
      released INTEGER NOT NULL DEFAULT 0 CHECK (released >= 0),
      -- the newest header patch that covered the bucket when this was written
      covering INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (group_number, bucket)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE entry_text (
      number INTEGER PRIMARY KEY,
      vars TEXT NOT NULL,
      request TEXT NOT NULL,
      lane TEXT,
      -- with bindings, once every value is there: where it is sent to, and the bytes of its body
      sent_url TEXT CHECK (sent_url IS NULL OR sent_length IS NOT NULL),
      sent_length INTEGER CHECK (sent_length >= 0),
      -- of a body whose place is the row; last, so that what stands before it is read without it
      body BLOB CHECK (length(body) <= 65536)
    ) STRICT;

    -- Body files that no row names any more, to be unlinked after the commit (D27).
    CREATE TABLE doomed (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

    CREATE TABLE outcome (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      event_id TEXT NOT NULL UNIQUE,
      -- 0 of a group
      entry INTEGER NOT NULL,
      key TEXT NOT NULL,
      deliveries INTEGER NOT NULL DEFAULT 0 CHECK (deliveries >= 0),
      bytes INTEGER NOT NULL CHECK (bytes > 0)
    ) STRICT;
    CREATE INDEX outcome_entry ON outcome (entry);
    CREATE INDEX outcome_key ON outcome (key);

    CREATE TABLE outcome_text (
      number INTEGER PRIMARY KEY,
      text TEXT NOT NULL
    ) STRICT;

    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE paused_key (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE paused_group (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE header_patch (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      headers TEXT NOT NULL,
      -- a JSON array of keys; NULL covers every key
      keys TEXT,
      -- NULL covers every origin
      origin TEXT
    ) STRICT;
    CREATE TABLE outage (
      origin TEXT PRIMARY KEY,
      number INTEGER NOT NULL CHECK (number > 0),
      since INTEGER NOT NULL,
      ended_at INTEGER
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE diagnostic (
      number INTEGER PRIMARY KEY,
      is_boot INTEGER NOT NULL CHECK (is_boot IN (0, 1)),
      at INTEGER NOT NULL,
      level TEXT NOT NULL CHECK (level IN ('info', 'warn', 'error')),
      message TEXT NOT NULL,
      error TEXT,
      figures TEXT
    ) STRICT;

    -- Names of the caller's files that were moved and are still to be removed (D28).
    CREATE TABLE moved (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      path BLOB NOT NULL,
      -- the body file that is the same file; NULL when its bytes were copied
      link TEXT,
      device INTEGER NOT NULL,
      inode INTEGER NOT NULL,
      size INTEGER NOT NULL CHECK (size >= 0),
      modified_at INTEGER NOT NULL,
      changed_at INTEGER NOT NULL
    ) STRICT;

    -- Where an entry in parts stands; its row in entry says the rest.
    CREATE TABLE parts (
      number INTEGER PRIMARY KEY,
      bucket INTEGER NOT NULL,
      count INTEGER NOT NULL CHECK (count > 0),
      begun INTEGER NOT NULL CHECK (begun BETWEEN 0 AND count),
      accepted INTEGER NOT NULL CHECK (accepted BETWEEN 0 AND begun),
      accepted_bytes INTEGER NOT NULL CHECK (accepted_bytes >= 0),
      latest INTEGER NOT NULL CHECK (latest >= 0 AND latest < count),
      since INTEGER NOT NULL CHECK (since > 0),
      -- while parts are in flight: when one more may go
      next INTEGER
    ) STRICT;
    CREATE INDEX parts_next ON parts (bucket, next) WHERE next IS NOT NULL;

    -- Parts that were begun.
    CREATE TABLE part (
      entry INTEGER NOT NULL,
      position INTEGER NOT NULL CHECK (position >= 0),
      state TEXT NOT NULL CHECK (\(anyOf("state", "waiting", "in-flight", "accepted"))),
      due INTEGER CHECK ((due IS NOT NULL) = (state = 'waiting')),
      is_backoff INTEGER CHECK (is_backoff IN (0, 1) AND (is_backoff IS NOT NULL) = (state = 'waiting')),
      outage INTEGER CHECK (outage IS NULL OR state = 'waiting'),
      spread REAL CHECK (spread >= 0 AND spread < 1 AND (spread IS NOT NULL) = (state = 'waiting')),
      generation INTEGER NOT NULL CHECK (generation > 0),
      ordinal INTEGER NOT NULL CHECK (ordinal > 0),
      request_id TEXT NOT NULL,
      revision INTEGER NOT NULL,
      streak INTEGER NOT NULL CHECK (streak >= 0),
      cut_answers INTEGER NOT NULL CHECK (cut_answers >= 0),
      followed_reuse INTEGER NOT NULL CHECK (followed_reuse IN (0, 1)),
      rules TEXT,
      PRIMARY KEY (entry, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX part_open ON part (entry, position) WHERE state <> 'accepted';

    -- The requests of all parts; long, and written once.
    CREATE TABLE part_text (
      entry INTEGER NOT NULL,
      position INTEGER NOT NULL CHECK (position >= 0),
      url TEXT NOT NULL,
      headers TEXT,
      range_start INTEGER NOT NULL CHECK (range_start >= 0),
      range_end INTEGER NOT NULL CHECK (range_end >= range_start),
      PRIMARY KEY (entry, position)
    ) STRICT, WITHOUT ROWID;
    """
}
