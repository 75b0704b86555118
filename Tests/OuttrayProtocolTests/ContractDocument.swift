import Foundation

@testable import OuttrayProtocol

/// protocol/openrpc.json, read from the source tree.
struct ContractDocument {
  let bytes: Data
  let root: NSDictionary

  init() throws {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let project = tests.deletingLastPathComponent().deletingLastPathComponent()
    bytes = try Data(contentsOf: project.appendingPathComponent("protocol/openrpc.json"))
    root = try Self.object(bytes)
  }

  struct Unreadable: Error {
    let path: String
  }

  static func object(_ bytes: Data) throws -> NSDictionary {
    guard let object = try JSONSerialization.jsonObject(with: bytes) as? NSDictionary else {
      throw Unreadable(path: "#")
    }
    return object
  }

  /// The value at a path of member names, joined by dots.
  func value<T>(_ path: String, as type: T.Type = T.self) throws -> T {
    var value: Any? = root
    for name in path.split(separator: ".") { value = (value as? NSDictionary)?[String(name)] }
    guard let value = value as? T else { throw Unreadable(path: path) }
    return value
  }

  /// Names of what this version serves, in order, and of what a later version will.
  func names(_ items: [NSDictionary]) -> (served: [String], later: [String]) {
    let later = items.filter { $0["x-since"] as? String == "next" }.compactMap { $0["name"] as? String }
    return (items.compactMap { $0["name"] as? String }.filter { !later.contains($0) }, later)
  }
}
