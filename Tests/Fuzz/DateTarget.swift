import Glibc

@testable import QueueModel

/// Retry-After as seconds and in the three forms of a date, against the C library; and what comes of it.
final class DateTarget: FuzzTarget {
  private static let forms = [
    "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y",
  ]

  private typealias Parse =
    @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutablePointer<tm>) ->
    UnsafeMutablePointer<
      CChar
    >?

  /// The C library's; Swift's view of that lacks the name.
  private let strptime: Parse

  init() throws {
    guard let symbol = dlsym(nil, "strptime") else { throw Broken("the C library reads no dates") }
    strptime = unsafeBitCast(symbol, to: Parse.self)
  }

  /// What time it is, then a value as a server sends it, or a time that is written in one of the forms.
  func run(_ input: [UInt8]) throws {
    var choices = Choices(input)
    let kind = choices.below(5)
    // 1970 to 2098: the clock of a machine, in ms.
    let wall = Int64(choices.byte()) << 34 | Int64(choices.byte()) << 24 | Int64(choices.byte())
    if kind < DateTarget.forms.count {
      try write(choices.int64(), as: kind, now: wall)
    } else if kind == 3 {
      try timestamp(choices.int64() >> choices.below(64))
    } else {
      try read(String(decoding: choices.rest(), as: UTF8.self), now: wall)
    }
  }

  /// A date that the C library writes is read as what it is.
  private func write(_ bits: Int64, as form: Int, now wall: Int64) throws {
    // Years 0 to 9999 have four digits.
    let seconds = -62_167_219_200 + Int64(UInt64(bitPattern: bits) % 315_569_520_000)
    let text = DateTarget.text(seconds, DateTarget.forms[form])
    let read = HTTPDate.milliseconds(Array(text.utf8), now: wall)
    if form == 1 {
      try compareCentury(read, of: seconds, now: wall)
    } else {
      try require(read == seconds * 1000, "\(text) is \(seconds) s, not \(read ?? -1) ms")
    }
    try wait(text, now: wall)
  }

  /// Two digits of a year name the year that lies within 50 years from now, or in the past.
  private func compareCentury(_ read: Int64?, of seconds: Int64, now wall: Int64) throws {
    let (date, present) = (DateTarget.fields(seconds), DateTarget.fields(wall / 1000))
    guard let read else {
      // A leap day that the year so named does not have.
      try require(date.tm_mon == 1 && date.tm_mday == 29, "an RFC 850 date is read")
      return
    }
    let found = DateTarget.fields(read / 1000)
    try require((found.tm_year - date.tm_year) % 100 == 0, "the year keeps its digits")
    try require(found.tm_year - present.tm_year <= 50 && found.tm_year - present.tm_year > -100, "is near")
    var expected = date
    expected.tm_year = found.tm_year
    try require(Int64(timegm(&expected)) * 1000 == read, "the rest of the date stays")
  }

  /// What is accepted means what the C library makes of it.
  private func read(_ text: String, now wall: Int64) throws {
    try wait(text, now: wall)
    guard let read = HTTPDate.milliseconds(Array(text.utf8), now: wall) else { return }
    var meanings: [Int64] = []
    for form in DateTarget.forms {
      var fields = tm()
      let isWhole = text.withCString { strptime($0, form, &fields).map { $0.pointee == 0 } }
      guard isWhole == true else { continue }
      if form == DateTarget.forms[1] { fields.tm_year = DateTarget.fields(read / 1000).tm_year }
      meanings.append(Int64(timegm(&fields)) * 1000)
    }
    try require(meanings.contains(read), "\(text) is \(read), and \(meanings) to the C library")
  }

  /// A wait is above 0 and within what an integer of the protocol holds.
  private func wait(_ text: String, now wall: Int64) throws {
    let wait = RetryAfter.milliseconds(text, now: wall)
    try require(wait.map { $0 > 0 && $0 <= Bounds.integer } ?? true, "\(text) waits \(wait ?? 0) ms")
    let digits = text.utf8.filter { (0x30...0x39).contains($0) }
    if digits.count == text.utf8.count, let seconds = Int64(text), seconds < Bounds.integer / 1000 {
      try require(wait == (seconds > 0 ? seconds * 1000 : nil), "\(text) seconds are \(wait ?? 0) ms")
    }
  }

  private func timestamp(_ wall: Int64) throws {
    // Where years have four digits.
    guard (-62_167_219_200_000..<253_402_300_800_000).contains(wall) else {
      _ = Timestamp.text(wall)
      return
    }
    let seconds = floorDivided(wall, by: 1000)
    let ms = String(wall - seconds * 1000 + 1000).dropFirst()
    let expected = "\(DateTarget.text(seconds, "%Y-%m-%dT%H:%M:%S")).\(ms)Z"
    try require(Timestamp.text(wall) == expected, "\(wall) is \(expected), not \(Timestamp.text(wall))")
  }

  private static func fields(_ seconds: Int64) -> tm {
    var (time, fields) = (time_t(seconds), tm())
    gmtime_r(&time, &fields)
    return fields
  }

  /// strftime does not fill up a year below 1000.
  private static func text(_ seconds: Int64, _ form: String) -> String {
    var fields = fields(seconds)
    let year = String(fields.tm_year + 1900)
    let padded = String(repeating: "0", count: 4 - year.utf8.count) + year
    let form = form.split(separator: "%Y", omittingEmptySubsequences: false).joined(separator: padded)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      let count = strftime(buffer.baseAddress!, buffer.count, form, &fields)
      return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
    }
  }
}
