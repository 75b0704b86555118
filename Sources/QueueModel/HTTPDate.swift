/// Dates as HTTP writes them: all three forms of RFC 9110, section 5.6.7.
enum HTTPDate {
  /// ms since the epoch; nil when `text` is none of the three forms or names no possible time.
  ///
  /// - Parameter wall: decides the century of the two-digit years of RFC 850.
  static func milliseconds(_ text: [UInt8], now wall: Int64) -> Int64? {
    let words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    switch words.count {
    case 6: return fixdate(words)
    case 4: return rfc850(words, now: wall)
    case 5: return asctime(words)
    default: return nil
    }
  }

  private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let longDays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  private static func fixdate(_ words: [String]) -> Int64? {
    // asctime pads the day with a blank, which makes its six words.
    if words[2].isEmpty { return asctime(Array(words[0...1] + ["0" + words[3]] + words[4...])) }
    guard words[5] == "GMT", days.contains(where: { $0 + "," == words[0] }) else { return nil }
    return milliseconds(
      year: number(words[3], digits: 4), month: words[2], day: number(words[1], digits: 2), time: words[4])
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func rfc850(_ words: [String], now wall: Int64) -> Int64? {
    let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard words[3] == "GMT", longDays.contains(where: { $0 + "," == words[0] }), date.count == 3,
      let short = number(date[2], digits: 2)
    else { return nil }
    let present = CivilDate(daysSinceEpoch: floorDivided(wall, by: 86_400_000)).year
    var year = present - present % 100 + short
    // More than 50 years ahead means the same two digits of the most recent past.
    if year > present + 50 { year -= 100 }
    return milliseconds(year: year, month: date[1], day: number(date[0], digits: 2), time: words[2])
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctime(_ words: [String]) -> Int64? {
    guard days.contains(words[0]) else { return nil }
    return milliseconds(
      year: number(words[4], digits: 4), month: words[1], day: number(words[2], digits: 2), time: words[3])
  }

  private static func milliseconds(year: Int64?, month: String, day: Int64?, time: String) -> Int64? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map {
      number(String($0), digits: 2)
    }
    guard let year, let day, let month = months.firstIndex(of: month), clock.count == 3,
      let hour = clock[0], let minute = clock[1], let second = clock[2],
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let date = CivilDate(year: year, month: Int64(month) + 1, day: day)
    guard CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date else { return nil }
    return (((date.daysSinceEpoch * 24 + hour) * 60 + minute) * 60 + second) * 1000
  }

  private static func number(_ text: String, digits: Int) -> Int64? {
    guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}

/// A day of the Gregorian calendar.
struct CivilDate: Equatable {
  var year: Int64
  var month: Int64
  var day: Int64

  init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The calendar repeats every 400 years (146,097 days); years count from March, so that a leap day ends
  /// one.
  init(daysSinceEpoch: Int64) {
    let shifted = daysSinceEpoch + 719_468
    let era = floorDivided(shifted, by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSinceEpoch: Int64 {
    let yearFromMarch = month <= 2 ? year - 1 : year
    let era = floorDivided(yearFromMarch, by: 400)
    let yearOfEra = yearFromMarch - era * 400
    let monthFromMarch = month > 2 ? month - 3 : month + 9
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

func floorDivided(_ number: Int64, by divisor: Int64) -> Int64 {
  number / divisor - (number % divisor < 0 ? 1 : 0)
}
