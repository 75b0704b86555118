import JSONRPC
import JSONText
import OuttrayProtocol
import QueueEngine
import QueueModel

/// Counters since the start, and gauges.
enum StatsMethod: ServedMethod {
  static let method = Method.stats

  static func serve(_ call: Call) throws(RPCError) {
    let dropped = call.connection.dropped
    let requests = call.connection.requests
    let awake = call.sidecar.awake.standing
    let reply: Completion<Stats> = call.reply { stats, writer in
      writer.object {
        $0.member("entries") { entries in
          entries.object {
            for state in Row.State.allCases { $0.member(state.countName, stats.entries[state] ?? 0) }
          }
        }
        $0.member("outcomes") { $0.object { $0.member("unacknowledged", stats.unacknowledged) } }
        $0.member("attempts") { attempts in
          attempts.object {
            $0.member("started", stats.attemptsStarted)
            $0.member("completed", stats.attemptsCompleted)
            $0.member("failed", stats.attemptsFailed)
          }
        }
        $0.member("bytes") { bytes in
          bytes.object {
            $0.member("sent", stats.bytesSent)
            $0.member("received", stats.bytesReceived)
          }
        }
        $0.member("network") { network in
          network.object {
            $0.member("type", stats.network.kind.rawValue)
            $0.member("metered", stats.network.isMetered)
            $0.member("source", stats.isNetworkNamed ? "host" : "detected")
          }
        }
        $0.member("origins") { $0.array { for origin in stats.origins { write(origin, into: &$0) } } }
        if let awake { $0.member("keepAwake", awake.rawValue) }
        $0.member("commits", stats.commits)
        $0.member("requests", requests)
        $0.member("events") { $0.object { $0.member("dropped", dropped) } }
      }
    }
    call.engine.submit(.stats(reply))
  }

  private static func write(_ standing: OriginStanding, into writer: inout JSONWriter) {
    writer.object {
      $0.member("origin", standing.origin.text)
      $0.member("running", Int64(standing.running))
      $0.member("limit", Int64(standing.limit))
      $0.member("circuit", standing.circuit.rawValue)
      if let until = standing.until { $0.member("until", until) }
    }
  }
}
