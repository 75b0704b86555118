import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel

/// What is said of a name that nothing is called by.
enum UnknownMember {
  /// E_INVALID for the member `name` of the object at `base`; an empty `base` is the params.
  static func refusal(_ name: String, of base: String, known: Members) -> RPCError {
    let path = JSONPath.member(name, of: base)
    return RPCError(.invalid, "\(path): is no member here\(hint(name, known: known.served))", path: path)
  }

  /// Names the nearest known name when one is near, else what there is.
  static func hint(_ name: String, known: [String]) -> String {
    if let near = NearestName.of(name, among: known) { return "; did you mean \(near)?" }
    return known.isEmpty ? "; there are none" : "; there are \(known.joined(separator: ", "))"
  }
}
