import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel

/// The params of one request: by name, no member unknown, none twice.
struct Params {
  /// A handful, each with another name.
  private let members: [(name: String, value: JSON)]
  /// All of them as one object.
  let whole: JSON

  /// Throws E_INVALID that names the member and, when one is near, the name that was meant.
  init(_ json: JSON?, of method: Method) throws(RPCError) {
    var members: [(name: String, value: JSON)] = []
    if let json {
      let known = Members.params(of: method)
      for (name, value) in json.members() {
        guard known.served.contains(name) else {
          throw UnknownMember.refusal(name, of: "", known: known)
        }
        members.append((name, value))
      }
    }
    self.members = members
    whole = json ?? .emptyObject
  }

  func optional(_ name: String) -> JSON? { members.first { $0.name == name }?.value }

  func required(_ name: String) throws(RPCError) -> JSON {
    guard let value = optional(name) else { throw RPCError(.invalid, "\(name): is required", path: name) }
    return value
  }

  func bool(_ name: String) throws(RPCError) -> Bool {
    guard let value = try required(name).bool else { throw wrong(name, "must be true or false") }
    return value
  }

  /// nil when the member is absent.
  func integer(_ name: String, in range: ClosedRange<Int64>) throws(RPCError) -> Int64? {
    guard let json = optional(name) else { return nil }
    guard let value = json.integer, range.contains(value) else {
      throw wrong(name, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  func string(_ name: String) throws(RPCError) -> String? {
    guard let json = optional(name) else { return nil }
    guard let value = json.string else { throw wrong(name, "must be a string") }
    return value
  }

  /// One of the raw values of `Value`; nil when the member is absent.
  func choice<Value: RawRepresentable & CaseIterable>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(RPCError) -> Value? where Value.RawValue == String {
    guard let json = optional(name) else { return nil }
    guard let text = json.string, let value = Value(rawValue: text) else {
      throw wrong(name, "must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
  }

  func strings(_ name: String) throws(RPCError) -> [String]? {
    guard let json = optional(name) else { return nil }
    guard json.kind == .array else { throw wrong(name, "must be an array of strings") }
    var strings: [String] = []
    for (index, element) in json.elements().enumerated() {
      guard let string = element.string else { throw wrong("\(name)[\(index)]", "must be a string") }
      strings.append(string)
    }
    return strings
  }

  func entryID(_ name: String) throws(RPCError) -> EntryID? {
    try value(name, EntryID.init(reading:path:))
  }

  func entryKey(_ name: String) throws(RPCError) -> EntryKey? {
    try value(name, EntryKey.init(reading:path:))
  }

  func group(_ name: String) throws(RPCError) -> EntryGroup? {
    try value(name, EntryGroup.init(reading:path:))
  }

  /// The group that a call names instead of an entry; nil when it names an entry, and one of the two it must.
  func groupInsteadOfID() throws(RPCError) -> EntryGroup? {
    let group = try group("group")
    if group != nil, optional("id") != nil { throw wrong("group", "stands instead of id") }
    if group == nil { _ = try required("id") }
    return group
  }

  /// A set of groups; nil when the member is absent.
  func groups(_ name: String = "groups") throws(RPCError) -> Set<EntryGroup>? {
    try set(name, "must be an array of groups", EntryGroup.init(reading:path:))
  }

  /// A set of keys; nil when the member is absent, so that a mistake in it cannot mean everything (B245).
  func keys(_ name: String = "keys") throws(RPCError) -> Set<EntryKey>? {
    try set(name, "must be an array of keys; leave it out to mean all", EntryKey.init(reading:path:))
  }

  private func value<Value>(
    _ name: String, _ read: (JSON, String) throws(InvalidInput) -> Value
  ) throws(RPCError) -> Value? {
    guard let json = optional(name) else { return nil }
    do throws(InvalidInput) { return try read(json, name) } catch { throw RPCError(error) }
  }

  private func set<Value: Hashable>(
    _ name: String, _ otherwise: String, _ read: (JSON, String) throws(InvalidInput) -> Value
  ) throws(RPCError) -> Set<Value>? {
    guard let json = optional(name) else { return nil }
    guard json.kind == .array else { throw wrong(name, otherwise) }
    var values: Set<Value> = []
    for (index, element) in json.elements().enumerated() {
      do throws(InvalidInput) { values.insert(try read(element, "\(name)[\(index)]")) } catch {
        throw RPCError(error)
      }
    }
    return values
  }

  private func wrong(_ path: String, _ message: String) -> RPCError {
    RPCError(.invalid, "\(path): \(message)", path: path)
  }
}
