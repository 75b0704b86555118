import QueueModel

/// The places of live entries in their lanes.
final class LaneTable {
  private let join: Statement
  private let leave: Statement
  private let place: Statement
  private let first: Statement
  private let last: Statement
  private let before: Statement

  init(_ connection: Connection) {
    func statement(_ sql: String) -> Statement { Statement(connection, sql) }
    join = statement(
      """
      INSERT INTO lane_place (place, lane, entry)
      VALUES ((SELECT ifnull(max(place), 0) + 1 FROM lane_place), ?, ?)
      """)
    leave = statement("DELETE FROM lane_place WHERE entry = ?")
    place = statement("SELECT lane FROM lane_place WHERE entry = ?")
    first = statement("SELECT entry FROM lane_place WHERE lane = ? ORDER BY place LIMIT 1")
    last = statement("SELECT entry FROM lane_place WHERE lane = ? ORDER BY place DESC LIMIT 1")
    before = statement(
      """
      SELECT p.entry FROM lane_place p JOIN lane_place own ON own.lane = p.lane AND p.place < own.place
      WHERE own.entry = ? ORDER BY p.place DESC LIMIT 1
      """)
  }

  /// Takes the last place.
  func join(_ lane: Lane, _ entry: Int64) throws(StoreError) {
    try join.run {
      $0.bind(lane.text)
      $0.bind(entry)
    }
  }

  func leave(_ entry: Int64) throws(StoreError) { try leave.run { $0.bind(entry) } }

  /// The lane in which it has a place.
  func lane(of entry: Int64) throws(StoreError) -> Lane? {
    try place.first({ $0.bind(entry) }) { Lane($0.text()) }
  }

  func first(of lane: Lane) throws(StoreError) -> Int64? {
    try first.first({ $0.bind(lane.text) }) { $0.int() }
  }

  func last(of lane: Lane) throws(StoreError) -> Int64? {
    try last.first({ $0.bind(lane.text) }) { $0.int() }
  }

  /// The one right before it.
  func before(_ entry: Int64) throws(StoreError) -> Int64? {
    try before.first({ $0.bind(entry) }) { $0.int() }
  }
}
