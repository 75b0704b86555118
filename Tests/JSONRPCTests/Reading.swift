import JSONRPC
import JSONText

/// What became of a line, in the words of the tables below.
struct Reading: Equatable, CustomStringConvertible {
  let description: String

  init(_ incoming: Incoming) {
    switch incoming {
    case .request(let request):
      let params = request.params.map { " \($0)" } ?? ""
      description = "\(request.id.raw) calls \(request.method)\(params)"
    case .notification(let method): description = "tells \(method)"
    case .refused(let id, let error):
      let path = error.path.map { " \($0)" } ?? ""
      description = "\(id?.raw ?? .null) refused \(error.code) \(error.kind)\(path)"
    }
  }

  init(_ line: String) { self.init(Incoming.read(Array(line.utf8))) }
}
