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
}
