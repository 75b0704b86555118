import JSONText

/// The outermost members of a line, sorted by their meaning but not yet judged.
struct Envelope {
  private var version: JSON?
  private var ids: [JSON] = []
  private var method: JSON?
  private var params: JSON?

  /// The first `result` or `error`, which only an answer has.
  private var answer: String?
  private var unknown: String?
  private var repeated: String?

  init(_ object: JSON) {
    for (name, value) in object.members() {
      var isNew = true
      switch name {
      case "jsonrpc": isNew = Self.keep(value, in: &version)
      case "method": isNew = Self.keep(value, in: &method)
      case "params": isNew = Self.keep(value, in: &params)
      case "id":
        isNew = ids.isEmpty
        ids.append(value)
      case "result", "error": answer = answer ?? name
      default: unknown = unknown ?? name
      }
      if !isNew, repeated == nil { repeated = name }
    }
  }

  /// Whether `member` had no value yet; else the first one stays.
  private static func keep(_ value: JSON, in member: inout JSON?) -> Bool {
    if member != nil { return false }
    member = value
    return true
  }

  /// `unfit` is the first content of the line that cannot be kept.
  func incoming(_ unfit: Unfit?) -> Incoming {
    if ids.isEmpty { return notification() }
    let id: RequestID
    switch readID() {
    case .success(let read): id = read
    case .failure(let error): return .refused(id: nil, error)
    }
    do {
      return .request(try request(id, unfit))
    } catch {
      return .refused(id: id, error)
    }
  }

  private func readID() -> Result<RequestID, RPCError> {
    var first: RequestID?
    for raw in ids {
      guard let id = RequestID(raw) else {
        if raw.kind == .string, raw.string == nil {
          return .failure(.parse("id \(Unfit.Reason.loneSurrogate.message)", path: "id"))
        }
        let right = "a string of at most \(RequestID.maxBytes) bytes or an integer within 2^53-1"
        return .failure(.request("id must be \(right)", path: "id"))
      }
      if let first, first != id { return .failure(.parse("id must stand once", path: "id")) }
      first = first ?? id
    }
    guard let first else { return .failure(.request("id is missing", path: "id")) }
    return .success(first)
  }

  private func request(_ id: RequestID, _ unfit: Unfit?) throws(RPCError) -> Request {
    if let unfit {
      let path = Self.fromParams(unfit.path)
      throw .invalid(path, "\(path): \(unfit.reason.message)")
    }
    if let repeated { throw .invalid(repeated, "\(repeated) must stand once") }
    let method = try checkedMethod()
    if let params {
      guard params.kind == .object else { throw .invalid("params", "params must be an object") }
      if let name = params.duplicateMember() {
        let path = JSONPath.member(name, of: "")
        throw .invalid(path, "\(path) must stand once")
      }
    }
    return Request(id: id, method: method, params: params)
  }

  /// Paths of errors count from the params on; what stands elsewhere in the line keeps its name.
  private static func fromParams(_ path: String) -> String {
    if path.hasPrefix("params.") { return String(path.dropFirst("params.".count)) }
    return path.hasPrefix("params[") ? String(path.dropFirst("params".count)) : path
  }

  /// Without an id. One that calls a method is left unanswered even if its params are wrong, as JSON-RPC
  /// has it; anything else cannot be meant as a notification.
  private func notification() -> Incoming {
    do {
      return .notification(method: try checkedMethod())
    } catch {
      return .refused(id: nil, error)
    }
  }

  /// The method, when the envelope is a request's.
  private func checkedMethod() throws(RPCError) -> String {
    guard version?.string == "2.0" else { throw .request(#"jsonrpc must be "2.0""#, path: "jsonrpc") }
    if let answer { throw .request("\(answer) belongs to an answer, and nothing was asked", path: answer) }
    guard let name = method?.string, !name.isEmpty else {
      throw .request("method must be a string that is not empty", path: "method")
    }
    if let unknown {
      let path = JSONPath.member(unknown, of: "")
      throw .request("unknown member \(path): a request has jsonrpc, id, method and params", path: path)
    }
    return name
  }
}
