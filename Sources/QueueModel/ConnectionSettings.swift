import JSONText

/// How connections are made (D23, D24).
package struct ConnectionSettings: Sendable, Equatable {
  /// HTTP/2 by ALPN.
  package var http2 = false
  /// Proxy URL; nil honours the environment's variables, "" uses none.
  package var proxy: String?
  /// PEM file that replaces the system's certificate authorities.
  package var caFile: String?
  /// By host name in lower case.
  package var hosts: [String: HostCredentials] = [:]

  package struct HostCredentials: Sendable, Equatable {
    package var certFile: String?
    package var keyFile: String?
    /// `sha256//BASE64`; any one must match.
    package var pinnedPublicKeys: [String] = []

    package init() {}
  }

  package init() {}
}

/// What `configure.tls` holds: `{caFile?, hosts?}` (D24).
struct TrustSettings: Equatable {
  var caFile: String?
  var hosts: [String: ConnectionSettings.HostCredentials] = [:]

  init() {}

  init(of settings: ConnectionSettings) {
    caFile = settings.caFile
    hosts = settings.hosts
  }

  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: ["caFile", "hosts"])
    caFile = try object.absolutePath("caFile")
    guard let json = object["hosts"] else { return }
    let hostsPath = object.path(of: "hosts")
    guard json.kind == .object else {
      throw InvalidInput(path: hostsPath, message: "must be an object with a member for each host")
    }
    for (name, credentials) in json.members() {
      let path = JSONPath.member(name, of: hostsPath)
      let host: String
      do throws(HostName.Defect) { host = try HostName.ascii(ArraySlice(name.utf8)) } catch {
        throw InvalidInput(path: path, message: error.message)
      }
      guard hosts[host] == nil else {
        throw InvalidInput(path: path, message: "must be given once, whatever its case")
      }
      hosts[host] = try ConnectionSettings.HostCredentials(reading: credentials, path: path)
    }
  }

  func write(into writer: inout JSONWriter) {
    writer.object { trust in
      if let caFile { trust.member("caFile", caFile) }
      trust.member("hosts") { list in
        list.object { object in
          for (host, credentials) in hosts.sorted(by: { $0.key < $1.key }) {
            object.member(host) { credentials.write(into: &$0) }
          }
        }
      }
    }
  }
}

extension ConnectionSettings.HostCredentials {
  init(reading json: JSON, path: String) throws(InvalidInput) {
    let object = try ObjectReader(json, path: path, names: ["certFile", "keyFile", "pinnedPublicKeys"])
    certFile = try object.absolutePath("certFile")
    keyFile = try object.absolutePath("keyFile")
    guard let json = object["pinnedPublicKeys"] else { return }
    for (path, element) in try json.array(at: object.path(of: "pinnedPublicKeys")) {
      guard let key = element.string, Self.isPin(key) else {
        throw InvalidInput(path: path, message: "must be sha256// and the base64 of a SHA-256 digest")
      }
      pinnedPublicKeys.append(key)
    }
  }

  /// 32 bytes are 43 characters of base64 and one `=`.
  private static func isPin(_ text: String) -> Bool {
    let digest = text.utf8.dropFirst("sha256//".utf8.count)
    return text.hasPrefix("sha256//") && digest.count == 44 && digest.last == UInt8(ascii: "=")
      && digest.dropLast().allSatisfy {
        HTTPText.isDigit($0) || HTTPText.isLetter($0) || "+/".utf8.contains($0)
      }
  }

  fileprivate func write(into writer: inout JSONWriter) {
    writer.object {
      if let certFile { $0.member("certFile", certFile) }
      if let keyFile { $0.member("keyFile", keyFile) }
      $0.member("pinnedPublicKeys") { list in list.array { for key in pinnedPublicKeys { $0.value(key) } } }
    }
  }
}

extension ObjectReader {
  fileprivate func absolutePath(_ name: String) throws(InvalidInput) -> String? {
    guard let text = try string(name) else { return nil }
    guard text.utf8.first == UInt8(ascii: "/"), !text.utf8.contains(0) else {
      throw InvalidInput(path: path(of: name), message: "must be an absolute path")
    }
    return text
  }
}
