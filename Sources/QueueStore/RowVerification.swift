/// Rows that are there, cannot be read, and so count as absent.
extension Reader {
  func partRows() throws(StoreError) -> Verification.Check {
    check("parts", try tables.parts.unreadableRequests(), "requests of parts")
  }

  func diagnosticRows() throws(StoreError) -> Verification.Check {
    check("diagnostics", try tables.diagnostics.unreadable(), "diagnostics")
  }

  func settingRows() throws(StoreError) -> Verification.Check {
    var (looked, problems) = try tables.settings.unreadable()
    looked += 1
    if try tables.meta.content() == nil {
      problems.append("the row about the database itself cannot be read")
    }
    return Verification.Check(name: "settings", looked: looked, problems: problems)
  }

  private func check(
    _ name: String, _ rows: (looked: Int64, refused: Int64), _ what: String
  ) -> Verification.Check {
    let problems = rows.refused > 0 ? ["\(rows.refused) \(what) cannot be read"] : []
    return Verification.Check(name: name, looked: rows.looked, problems: problems)
  }
}
