import JSONRPC
import JSONText
import OuttrayProtocol
import QueueModel

/// Splits a byte count into ranges.
enum ChunkPlanMethod: ServedMethod {
  static let method = Method.chunkPlan

  static func serve(_ call: Call) throws(RPCError) {
    _ = try call.params.required("size")
    let whole = 0...Int64(Limits.maxInteger)
    let size = try call.params.integer("size", in: whole) ?? 0
    let least = try call.params.integer("min", in: 1...whole.upperBound) ?? ChunkPlan.defaultMin
    let most = try call.params.integer("max", in: 1...whole.upperBound) ?? ChunkPlan.defaultMax
    let ranges: [Range<Int64>]
    do { ranges = try ChunkPlan.ranges(size: size, min: least, max: most) } catch { throw RPCError(error) }
    call.connection.answer(call.id) { writer in
      writer.object {
        $0.member("ranges") { list in
          list.array { array in
            for range in ranges {
              array.object {
                $0.member("start", range.lowerBound)
                $0.member("end", range.upperBound)
              }
            }
          }
        }
      }
    }
  }
}
