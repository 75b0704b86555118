/// The tables of one connection.
final class Tables {
  let connection: Connection
  let entries: EntryTable
  let links: Links
  let parts: PartTable
  let bodies: BodyTable
  let moved: MovedTable
  let buckets: BucketTable
  let bucketQueries: BucketQueries
  let groups: GroupTable
  let members: MemberTable
  let outcomes: OutcomeTable
  let settings: SettingsTable
  let diagnostics: DiagnosticTable
  let meta: MetaTable

  /// Reads a few rows at the ends of indexes, and never scans.
  init(_ connection: Connection) throws(StoreError) {
    self.connection = connection
    parts = PartTable(connection)
    entries = EntryTable(connection, parts)
    links = try Links(connection)
    bodies = BodyTable(connection)
    moved = try MovedTable(connection)
    let settings = SettingsTable(connection)
    self.settings = settings
    buckets = try BucketTable(connection, settings)
    groups = try GroupTable(connection)
    members = MemberTable(connection)
    bucketQueries = BucketQueries(connection)
    outcomes = try OutcomeTable(connection)
    diagnostics = DiagnosticTable(connection)
    meta = MetaTable(connection)
  }
}
