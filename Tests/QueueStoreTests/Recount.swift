import QueueModel
import Testing

@testable import QueueStore

/// What the table of buckets says, a line a bucket that is in use.
func storedBuckets(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT b.key || ' ' || b.origin || ' ' || b.priority || ' ' || b.wifi_only || ' ' || b.paused_group,
      queued, held, running, awaiting_auth, released, completed, error, cancelled, waking,
      ifnull(due, 'none'), ifnull(expiry, 'none'), ifnull(next_part, 'none')
    FROM bucket b ORDER BY 1
    """
  ).all { row in (0..<13).map { _ in row.text() }.joined(separator: " ") }
}

/// The same, counted from the rows of entries and nothing else.
func recountedBuckets(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT b.key || ' ' || b.origin || ' ' || b.priority || ' ' || b.wifi_only || ' ' || b.paused_group,
      sum(e.state = 'queued'), sum(e.state = 'held'), sum(e.state = 'running'),
      sum(e.state = 'awaiting-auth' AND e.parked_revision >= b.covering),
      sum(e.state = 'awaiting-auth' AND e.parked_revision < b.covering),
      sum(e.state = 'completed'), sum(e.state = 'error'), sum(e.state = 'cancelled'),
      sum(e.outage IS NOT NULL), ifnull(min(e.due), 'none'),
      ifnull(min(CASE WHEN e.state IN ('queued', 'held', 'awaiting-auth') THEN e.expires_at END), 'none'),
      ifnull(min(p.next), 'none')
    FROM entry e JOIN bucket b ON b.number = e.bucket LEFT JOIN parts p ON p.number = e.number
    GROUP BY b.number ORDER BY 1
    """
  ).all { row in (0..<13).map { _ in row.text() }.joined(separator: " ") }
}

func expectExactBuckets(_ directory: String, _ comment: Comment? = nil) throws {
  try withDatabase(of: directory) {
    try #expect(storedBuckets($0) == recountedBuckets($0), comment)
    try #expect(storedGroups($0) == recountedGroups($0), comment)
    try #expect(storedMembers($0) == recountedMembers($0), comment)
  }
}

/// Rows and live members of each group, and how its rows ended: what has gone still counts, so it is no less.
func storedGroups(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT g.name, g.rows, g.live, (
      SELECT sum(e.state = 'completed') <= g.completed AND sum(e.state = 'error') <= g.error
        AND sum(e.state = 'cancelled') <= g.cancelled
      FROM entry e WHERE e.group_number = g.number)
    FROM member_group g WHERE g.rows > 0 ORDER BY 1
    """
  ).all { row in (0..<4).map { _ in row.text() }.joined(separator: " ") }
}

/// The same, counted from the rows of entries.
func recountedGroups(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT g.name, count(*), sum(e.settled_event IS NULL), 1
    FROM entry e JOIN member_group g ON g.number = e.group_number GROUP BY g.number ORDER BY 1
    """
  ).all { row in (0..<4).map { _ in row.text() }.joined(separator: " ") }
}

/// Live members by group and bucket.
func storedMembers(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT m.group_number, m.bucket, m.queued, m.running, iif(m.covering < b.covering, 0, m.awaiting_auth),
      m.released + iif(m.covering < b.covering, m.awaiting_auth, 0)
    FROM member m JOIN bucket b ON b.number = m.bucket ORDER BY 1, 2
    """
  ).all { row in (0..<6).map { _ in row.text() }.joined(separator: " ") }
}

/// The same, counted from the rows of entries.
func recountedMembers(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT e.group_number, e.bucket, sum(e.state IN ('queued', 'held')), sum(e.state = 'running'),
      sum(e.state = 'awaiting-auth' AND e.parked_revision >= b.covering),
      sum(e.state = 'awaiting-auth' AND e.parked_revision < b.covering)
    FROM entry e JOIN bucket b ON b.number = e.bucket
    WHERE e.group_number IS NOT NULL AND e.settled_event IS NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
  ).all { row in (0..<6).map { _ in row.text() }.joined(separator: " ") }
}
