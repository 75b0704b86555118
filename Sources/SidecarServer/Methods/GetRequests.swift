import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Reads rows, page by page.
enum GetRequests: ServedMethod {
  static let method = Method.getRequests

  static func serve(_ call: Call) throws(RPCError) {
    var query = RowQuery()
    query.key = try call.params.entryKey("key")
    query.id = try call.params.entryID("id")
    query.group = try call.params.group("group")
    query.state = try call.params.choice("state")
    query.limit = Int(
      try call.params.integer("limit", in: 1...Int64(Limits.pageRows)) ?? Int64(Limits.pageRows))
    if let cursor = try call.params.string("cursor") {
      guard let after = Int64(cursor), after > 0 else {
        throw RPCError(.invalid, "cursor: must be the nextCursor of an earlier page", path: "cursor")
      }
      query.after = after
    }
    let reply: Completion<RowPage> = call.reply { page, writer in
      writer.object {
        $0.member("requests") { requests in
          requests.array { for row in page.rows { row.write(into: &$0) } }
        }
        if let next = page.next { $0.member("nextCursor", String(next)) }
      }
    }
    call.connection.whenRoom { [connection = call.connection, engine = call.engine, query] in
      engine.submit(
        .rows(query) { page in
          reply(page)
          connection.pageAnswered()
        })
    }
  }
}
