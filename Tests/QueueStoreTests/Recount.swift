import QueueModel
import Testing

@testable import QueueStore

/// What the table of buckets says, a line a bucket that is in use.
func storedBuckets(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT b.key || ' ' || b.origin || ' ' || b.priority || ' ' || b.wifi_only,
      queued, running, awaiting_auth, released, completed, error, cancelled, waking,
      ifnull(due, 'none'), ifnull(expiry, 'none'), ifnull(next_part, 'none')
    FROM bucket b ORDER BY 1
    """
  ).all { row in (0..<12).map { _ in row.text() }.joined(separator: " ") }
}

/// The same, counted from the rows of entries and nothing else.
func recountedBuckets(_ connection: Connection) throws -> [String] {
  try Statement(
    connection,
    """
    SELECT b.key || ' ' || b.origin || ' ' || b.priority || ' ' || b.wifi_only,
      sum(e.state = 'queued'), sum(e.state = 'running'),
      sum(e.state = 'awaiting-auth' AND e.parked_revision >= b.covering),
      sum(e.state = 'awaiting-auth' AND e.parked_revision < b.covering),
      sum(e.state = 'completed'), sum(e.state = 'error'), sum(e.state = 'cancelled'),
      sum(e.outage IS NOT NULL), ifnull(min(e.due), 'none'),
      ifnull(min(CASE WHEN e.state IN ('queued', 'awaiting-auth') THEN e.expires_at END), 'none'),
      ifnull(min(p.next), 'none')
    FROM entry e JOIN bucket b ON b.number = e.bucket LEFT JOIN parts p ON p.number = e.number
    GROUP BY b.number ORDER BY 1
    """
  ).all { row in (0..<12).map { _ in row.text() }.joined(separator: " ") }
}

func expectExactBuckets(_ directory: String, _ comment: Comment? = nil) throws {
  try withDatabase(of: directory) {
    try #expect(storedBuckets($0) == recountedBuckets($0), comment)
  }
}
