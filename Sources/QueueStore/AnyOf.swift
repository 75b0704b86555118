/// SQL that is true when `column` is one of `values`. Not `IN`: with more than two constants that has SQLite
/// make a table of them, anew in each statement, and a CHECK or the condition of an index is part of each
/// that writes a row.
func anyOf(_ column: String, _ values: String...) -> String {
  "(\(values.map { "\(column) = '\($0)'" }.joined(separator: " OR ")))"
}

/// The entry may expire: it is live, and no attempt of it is under way. The same words as in `entry_expiry`,
/// or that index does not count.
func mayExpire(_ column: String = "state") -> String { anyOf(column, "queued", "held", "awaiting-auth") }
