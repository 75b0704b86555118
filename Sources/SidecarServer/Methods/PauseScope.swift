import JSONRPC
import OuttrayProtocol
import QueueEngine
import QueueModel

extension Call {
  /// What a pause or its end is about; nil when neither keys nor groups are named, which is the whole queue.
  func pauseScope() throws(RPCError) -> PauseScope? {
    let (keys, groups) = (try params.keys(), try params.groups())
    return keys == nil && groups == nil ? nil : PauseScope(keys: keys ?? [], groups: groups ?? [])
  }

  /// The group that a call names instead of an entry; nil when it names an entry, and one of the two it must.
  func groupInsteadOfID() throws(RPCError) -> EntryGroup? {
    let group = try params.group("group")
    if group != nil, params.optional("id") != nil {
      throw RPCError(.invalid, "group: stands instead of id", path: "group")
    }
    if group == nil { _ = try params.required("id") }
    return group
  }
}
