import QueueModel

extension Migrations {
  // Whom entries wait for, what they take from them, and their places in lanes. An edge names its
  // predecessor by id: that may go, and come again under another number.
  static let links = """
    CREATE TABLE dependency (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      successor INTEGER NOT NULL,
      predecessor TEXT NOT NULL,
      is_met INTEGER NOT NULL CHECK (is_met IN (0, 1)),
      -- the successor settles when the predecessor fails
      settles INTEGER NOT NULL CHECK (settles IN (0, 1)),
      -- the successor has not settled
      is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
      UNIQUE (successor, predecessor)
    ) STRICT;
    CREATE INDEX dependency_predecessor ON dependency (predecessor, is_open, is_met, settles);

    CREATE TABLE binding (
      successor INTEGER NOT NULL,
      name TEXT NOT NULL,
      predecessor TEXT NOT NULL,
      pointer TEXT,
      header TEXT,
      -- JSON; NULL until the predecessor has completed
      value TEXT,
      UNIQUE (successor, name),
      CHECK ((pointer IS NULL) <> (header IS NULL))
    ) STRICT;

    -- Live entries of lanes, in the order of acceptance.
    CREATE TABLE lane_place (
      place INTEGER PRIMARY KEY CHECK (place > 0),
      lane TEXT NOT NULL,
      entry INTEGER NOT NULL UNIQUE
    ) STRICT;
    CREATE INDEX lane_place_lane ON lane_place (lane, place);

    -- What the end of an entry means for others and is not carried out yet: they may be many, and a turn
    -- does not do more than it can.
    CREATE TABLE consequence (
      number INTEGER PRIMARY KEY CHECK (number > 0),
      id TEXT NOT NULL,
      -- the newest edge that it is about; what waits since then waits for the next end
      through INTEGER NOT NULL,
      -- the outcome; NULL when it is that nobody needs the row of the entry any more
      outcome TEXT
    ) STRICT;
    """
}

/// The tables of what entries have to do with each other.
final class Links {
  let dependencies: DependencyTable
  let bindings: BindingTable
  let lanes: LaneTable
  let consequences: ConsequenceTable

  init(_ connection: Connection) throws(StoreError) {
    dependencies = try DependencyTable(connection)
    bindings = BindingTable(connection)
    lanes = LaneTable(connection)
    consequences = ConsequenceTable(connection)
  }

  /// The row of the entry is gone.
  func delete(of number: Int64) throws(StoreError) {
    try dependencies.delete(of: number)
    try bindings.delete(of: number)
    try lanes.leave(number)
  }
}
