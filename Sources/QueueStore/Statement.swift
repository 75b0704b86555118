import CSQLite

/// One SQL statement, prepared at its first use and kept. Values are bound in the order of the parameters,
/// columns read in the order of the result. No row is left open when a call returns.
final class Statement {
  private unowned let connection: Connection
  private let sql: String
  private var handle: OpaquePointer?

  init(_ connection: Connection, _ sql: String) {
    self.connection = connection
    self.sql = sql
  }

  deinit { sqlite3_finalize(handle) }

  /// Runs a statement without rows.
  func run(_ bind: (inout Parameters) -> Void = { _ in }) throws(StoreError) {
    let handle = try begin(bind)
    let code = sqlite3_step(handle)
    guard code == SQLITE_DONE || code == SQLITE_ROW else { throw end(code) }
    sqlite3_reset(handle)
  }

  /// What `read` makes of the first row that it does not refuse with nil. A row with a number beyond 2^60 is
  /// refused as well, here and in `all`.
  func first<Value>(
    _ bind: (inout Parameters) -> Void = { _ in }, _ read: (inout StatementRow) -> Value?
  ) throws(StoreError) -> Value? {
    var found: Value?
    try each(bind) { row in
      let value = read(&row)
      if !row.isOutOfRange { found = value }
      return found == nil
    }
    return found
  }

  /// What `read` makes of every row, without those that it refuses with nil.
  func all<Value>(
    _ bind: (inout Parameters) -> Void = { _ in }, _ read: (inout StatementRow) -> Value?
  ) throws(StoreError) -> [Value] {
    var values: [Value] = []
    try each(bind) { row in
      if let value = read(&row), !row.isOutOfRange { values.append(value) }
      return true
    }
    return values
  }

  /// How many rows there are, and how many of them `read` refuses.
  func refusals<Value>(
    _ read: (inout StatementRow) -> Value?
  ) throws(StoreError) -> (looked: Int64, refused: Int64) {
    var (looked, refused): (Int64, Int64) = (0, 0)
    try each({ _ in }) { row in
      looked += 1
      if read(&row) == nil || row.isOutOfRange { refused += 1 }
      return true
    }
    return (looked, refused)
  }

  /// Visits rows until `visit` returns false.
  func each(_ bind: (inout Parameters) -> Void, _ visit: (inout StatementRow) -> Bool) throws(StoreError) {
    let handle = try begin(bind)
    while true {
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { break }
      guard code == SQLITE_ROW else { throw end(code) }
      var row = StatementRow(handle)
      if !visit(&row) { break }
    }
    sqlite3_reset(handle)
  }

  private func begin(_ bind: (inout Parameters) -> Void) throws(StoreError) -> OpaquePointer {
    let handle = try prepared()
    var parameters = Parameters(handle)
    bind(&parameters)
    if parameters.failure != SQLITE_OK { throw end(parameters.failure) }
    return handle
  }

  private func prepared() throws(StoreError) -> OpaquePointer {
    if let handle { return handle }
    var prepared: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    try connection.check(sqlite3_prepare_v3(connection.handle, sql, -1, flags, &prepared, nil))
    guard let prepared else { throw .failed(code: SQLITE_MISUSE, message: "an empty statement") }
    handle = prepared
    return prepared
  }

  private func end(_ code: Int32) -> StoreError {
    let failure = connection.failure(code)
    sqlite3_reset(handle)
    return failure
  }
}

/// The parameters of one run of a statement, bound from left to right.
struct Parameters {
  private let handle: OpaquePointer
  private var index: Int32 = 0
  /// The first that there was.
  private(set) var failure = SQLITE_OK

  fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

  private mutating func note(_ code: Int32) {
    if failure == SQLITE_OK { failure = code }
  }

  private mutating func next() -> Int32 {
    index += 1
    return index
  }

  mutating func bind(_ value: Int64) { note(sqlite3_bind_int64(handle, next(), value)) }

  mutating func bind(_ value: Int64?) {
    if let value { bind(value) } else { bindNull() }
  }

  mutating func bind(_ value: Bool) { bind(value ? 1 : 0 as Int64) }

  mutating func bind(_ value: Bool?) { bind(value.map { $0 ? 1 : 0 as Int64 }) }

  mutating func bind(_ value: Double) { note(sqlite3_bind_double(handle, next(), value)) }

  mutating func bind(_ value: Double?) {
    if let value { bind(value) } else { bindNull() }
  }

  mutating func bind(_ value: String) {
    var value = value
    let index = next()
    note(value.withUTF8 { outtray_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count)) })
  }

  mutating func bind(_ value: String?) {
    if let value { bind(value) } else { bindNull() }
  }

  /// UTF-8 into a TEXT column.
  mutating func bind(text: ArraySlice<UInt8>) {
    let index = next()
    note(text.withUnsafeBytes { outtray_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count)) })
  }

  mutating func bind(blob: [UInt8]?) {
    guard let blob else { return bindNull() }
    let index = next()
    note(blob.withUnsafeBytes { outtray_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count)) })
  }

  mutating func bindNull() { note(sqlite3_bind_null(handle, next())) }
}

/// The columns of one row, read from left to right.
struct StatementRow {
  /// The numbers of the protocol end at 2^53 - 1, and a few of them are added up. What is beyond 2^60 is
  /// damage, and its sums might not fit.
  static let largest: Int64 = 1 << 60

  private let handle: OpaquePointer
  private var column: Int32 = -1
  /// `int` has met a larger number.
  private(set) var isOutOfRange = false

  fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

  private mutating func next() -> Int32 {
    column += 1
    return column
  }

  private mutating func nextUnlessNull() -> Int32? {
    let column = next()
    return sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : column
  }

  /// A count, a time, or the number of a row.
  mutating func int() -> Int64 { inRange(bits()) }

  /// Any 64 bits.
  mutating func bits() -> Int64 { sqlite3_column_int64(handle, next()) }

  private mutating func inRange(_ value: Int64) -> Int64 {
    if value.magnitude > UInt64(StatementRow.largest) { isOutOfRange = true }
    return value
  }

  mutating func bool() -> Bool { int() != 0 }

  mutating func optionalInt() -> Int64? { optionalBits().map { inRange($0) } }

  mutating func optionalBits() -> Int64? { nextUnlessNull().map { sqlite3_column_int64(handle, $0) } }

  mutating func optionalDouble() -> Double? { nextUnlessNull().map { sqlite3_column_double(handle, $0) } }

  mutating func text() -> String { String(decoding: raw(next()), as: UTF8.self) }

  mutating func optionalText() -> String? {
    nextUnlessNull().map { String(decoding: raw($0), as: UTF8.self) }
  }

  mutating func bytes() -> [UInt8] { [UInt8](raw(next())) }

  mutating func optionalBytes() -> [UInt8]? { nextUnlessNull().map { [UInt8](raw($0)) } }

  /// The bytes of a text or a blob as they are stored, NUL included.
  private func raw(_ column: Int32) -> UnsafeRawBufferPointer {
    // The length is right only after the conversion that the pointer may need.
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }
}
