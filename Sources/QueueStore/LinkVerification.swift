/// What groups, dependencies and lanes say against what the rows of entries do.
extension Reader {
  func groupCounts() throws(StoreError) -> Verification.Check {
    try check(
      "groups", over: "member_group",
      [
        """
        SELECT 'group ' || g.name || ': has ' || g.rows || ' members, ' || g.live || ' live; its entries say '
          || count(e.number) || ', ' || count(e.number) FILTER (WHERE e.settled_event IS NULL)
        FROM member_group g LEFT JOIN entry e ON e.group_number = g.number GROUP BY g.number
        HAVING g.rows <> count(e.number)
          OR g.live <> count(e.number) FILTER (WHERE e.settled_event IS NULL)
        """,
        // What has gone still counts.
        """
        SELECT 'group ' || g.name || ': counts fewer settled members than it has'
        FROM member_group g JOIN entry e ON e.group_number = g.number GROUP BY g.number
        HAVING g.completed < total(e.state = 'completed') OR g.error < total(e.state = 'error')
          OR g.cancelled < total(e.state = 'cancelled')
        """,
        """
        SELECT 'group ' || name || iif(live = 0, ': has not settled', ': has settled') || ', with ' || live
          || ' live members'
        FROM member_group WHERE (live = 0) <> (settled_event IS NOT NULL)
        """,
        """
        SELECT 'group ' || name || ': its outcome is gone'
        FROM member_group WHERE settled_event IS NOT NULL AND is_acknowledged = 0
          AND NOT EXISTS (SELECT 1 FROM outcome WHERE event_id = settled_event)
        """,
        """
        SELECT 'group ' || g.name || ': counts its live members wrongly' FROM (
          SELECT group_number, bucket, queued, running, awaiting_auth + released AS parked FROM member
          UNION ALL
          SELECT group_number, bucket, -total(state IN ('queued', 'held')), -total(state = 'running'),
            -total(state = 'awaiting-auth')
          FROM entry WHERE group_number IS NOT NULL AND settled_event IS NULL GROUP BY group_number, bucket
        ) m LEFT JOIN member_group g ON g.number = m.group_number GROUP BY m.group_number, m.bucket
        HAVING total(m.queued) <> 0 OR total(m.running) <> 0 OR total(m.parked) <> 0
        """,
      ])
  }

  func dependencies() throws(StoreError) -> Verification.Check {
    var check = try check(
      "dependencies", over: "dependency",
      [
        """
        SELECT ifnull(e.id, 'an entry that is gone') || ': waits for ' || d.predecessor
          || iif(d.is_open, ', and has settled', ', and does not know')
        FROM dependency d LEFT JOIN entry e ON e.number = d.successor
        WHERE e.number IS NULL OR d.is_open <> (e.settled_event IS NULL)
        """,
        """
        SELECT e.id || ': waits for ' || ifnull(e.held_unmet, 0) || ' others, ' || count(d.number)
          || ' have not completed'
        FROM entry e LEFT JOIN dependency d ON d.successor = e.number AND d.is_met = 0 AND d.is_open = 1
        GROUP BY e.number HAVING ifnull(e.held_unmet, 0) <> count(d.number)
        """,
        """
        SELECT ifnull(e.id, 'an entry that is gone') || ': bind.' || b.name
          || iif(b.value IS NULL, ' has no value', ' is left over')
        FROM binding b LEFT JOIN entry e ON e.number = b.successor
        LEFT JOIN dependency d ON d.successor = b.successor AND d.predecessor = b.predecessor
        WHERE d.number IS NULL OR e.settled_event IS NULL AND d.is_met = 1 AND b.value IS NULL
        """,
      ])
    let (_, refused) = try tables.links.bindings.unreadable()
    if refused > 0 { check.problems.append("\(refused) bindings cannot be read") }
    return check
  }

  func lanePlaces() throws(StoreError) -> Verification.Check {
    try check(
      "lanes", over: "lane_place",
      [
        """
        SELECT ifnull(e.id, 'an entry that is gone') || ': has a place in lane ' || p.lane || ', not its own'
        FROM lane_place p LEFT JOIN entry e ON e.number = p.entry
        LEFT JOIN entry_text t ON t.number = p.entry
        WHERE e.number IS NULL OR e.settled_event IS NOT NULL OR t.lane IS NOT p.lane
        """,
        """
        SELECT e.id || ': has no place in lane ' || t.lane
        FROM entry e JOIN entry_text t ON t.number = e.number
        WHERE t.lane IS NOT NULL AND e.settled_event IS NULL
          AND NOT EXISTS (SELECT 1 FROM lane_place WHERE entry = e.number)
        """,
        """
        SELECT e.id || iif(ifnull(e.held_behind, 0),
          ': waits, with nobody before it in its lane', ': does not wait for those before it in its lane')
        FROM entry e LEFT JOIN lane_place p ON p.entry = e.number
        WHERE e.settled_event IS NULL AND ifnull(e.held_behind, 0)
          <> EXISTS (SELECT 1 FROM lane_place o WHERE o.lane = p.lane AND o.place < p.place)
        """,
      ])
  }

  /// - Parameter questions: Each gives one line for each problem.
  private func check(
    _ name: String, over table: String, _ questions: [String]
  ) throws(StoreError) -> Verification.Check {
    let rows = try tables.connection.integer("SELECT count(*) FROM \(table)") ?? 0
    var check = Verification.Check(name: name, looked: rows, problems: [])
    for question in questions {
      check.problems += try Statement(tables.connection, question).all { $0.text() }
    }
    return check
  }
}
