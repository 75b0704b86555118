import Glibc

/// Numbers for people.
package enum Amount {
  /// `0 B`, `64.0 KiB`, `1.5 GiB`.
  package static func bytes(_ count: Int64) -> String {
    guard count >= 1024 else { return "\(count) B" }
    var value = Double(count)
    var unit = 0
    while value >= 1024 && unit < units.count {
      value /= 1024
      unit += 1
    }
    let tenths = Int64((value * 10).rounded(.down))
    return "\(tenths / 10).\(tenths % 10) \(units[unit - 1])"
  }

  private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

  /// `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `13 d 4 h`; of less than nothing as of nothing.
  package static func duration(ms: Int64) -> String {
    let ms = max(0, ms)
    if ms < 1000 { return "0.\(ms / 100) s" }
    let seconds = ms / 1000
    let pairs: [(Int64, String, Int64, String)] = [
      (86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"),
    ]
    for (large, largeName, small, smallName) in pairs where seconds >= large {
      let rest = seconds % large / small
      return "\(seconds / large) \(largeName)" + (rest > 0 ? " \(rest) \(smallName)" : "")
    }
    return "\(seconds) s"
  }

  /// Wall clock in ms, as local time with its distance from UTC.
  package static func time(_ wall: Int64) -> String {
    var seconds = time_t(wall / 1000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return "\(wall) ms" }
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S %z", &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
