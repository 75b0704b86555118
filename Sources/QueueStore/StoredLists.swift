import JSONText
import QueueModel

/// The short lists that stand in one column, as JSON. An empty list is NULL.
enum StoredLists {
  /// `[[size, modifiedAt, inode?], ...]`
  static func text(of stamps: [SourceStamp]) -> [UInt8]? {
    guard !stamps.isEmpty else { return nil }
    var writer = JSONWriter()
    writer.array { writer in
      for stamp in stamps {
        writer.array {
          $0.value(stamp.size)
          $0.value(stamp.modifiedAt)
          if let inode = stamp.inode { $0.value(inode) }
        }
      }
    }
    return writer.bytes
  }

  static func stamps(_ text: [UInt8]?) -> [SourceStamp]? {
    guard let text else { return [] }
    guard let list = try? JSON(checking: text), list.kind == .array else { return nil }
    var stamps: [SourceStamp] = []
    for item in list.elements() {
      let numbers = item.kind == .array ? item.elements().compactMap(\.integer) : []
      guard (2...3).contains(numbers.count), numbers[0] >= 0 else { return nil }
      stamps.append(
        SourceStamp(size: numbers[0], modifiedAt: numbers[1], inode: numbers.count > 2 ? numbers[2] : nil))
    }
    return stamps
  }

  /// `[{"status", "bodyIncludes"?, "count"}, ...]`
  static func text(of rules: [RuleCount]) -> [UInt8]? {
    guard !rules.isEmpty else { return nil }
    var writer = JSONWriter()
    writer.array { writer in
      for rule in rules {
        writer.object {
          $0.member("status", rule.status)
          if let text = rule.bodyIncludes { $0.member("bodyIncludes", text) }
          $0.member("count", rule.count)
        }
      }
    }
    return writer.bytes
  }

  static func rules(_ text: [UInt8]?) -> [RuleCount]? {
    guard let text else { return [] }
    guard let list = try? JSON(checking: text), list.kind == .array else { return nil }
    var rules: [RuleCount] = []
    for item in list.elements() {
      guard item.kind == .object, let status = item["status"]?.integer, let count = item["count"]?.integer
      else {
        return nil
      }
      rules.append(RuleCount(status: Int(status), bodyIncludes: item["bodyIncludes"]?.string, count: count))
    }
    return rules
  }

  static func text(of keys: Set<EntryKey>) -> [UInt8] {
    var writer = JSONWriter()
    writer.array { writer in
      for key in keys.sorted() { writer.value(key.text) }
    }
    return writer.bytes
  }

  static func keys(_ text: [UInt8]) -> Set<EntryKey>? {
    guard let list = try? JSON(checking: text), list.kind == .array else { return nil }
    return Set(list.elements().compactMap { $0.string.map { EntryKey($0) } })
  }

  /// `{name: value, ...}` in the order of the fields.
  static func text(of headers: HeaderFields) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      for field in headers.fields { writer.member(field.name, field.value) }
    }
    return writer.bytes
  }

  static func headers(_ text: [UInt8]) -> HeaderFields? {
    guard let object = try? JSON(checking: text), object.kind == .object else { return nil }
    var headers = HeaderFields()
    for (name, value) in object.members() {
      guard let value = value.string else { return nil }
      headers.set(name, value)
    }
    return headers
  }
}
