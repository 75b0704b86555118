import CCurl
import Glibc
import QueueModel

/// One libcurl handle, used for one exchange after the other.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  /// libcurl's smallest upload buffer, bytes.
  static let leastBuffer: Int64 = 16 << 10
  private var lines: UnsafeMutablePointer<curl_slist>?
  private var refusal: CURLcode?

  /// nil when libcurl is out of memory.
  init?() {
    guard let pointer = curl_easy_init() else { return nil }
    self.pointer = pointer
  }

  deinit {
    curl_easy_cleanup(pointer)
    curl_slist_free_all(lines)
  }

  /// Sets every option for `exchange`; the handle is in no multi handle.
  func prepare(
    _ exchange: Exchange, settings: ConnectionSettings, sockets: SocketTable
  ) throws(TransferFailure) {
    curl_easy_reset(pointer)
    refusal = nil
    try requireFiles(of: settings, for: exchange.url)
    setRequest(exchange)
    setBehaviour(exchange)
    setConnection(exchange.url, settings)
    setHooks(Unmanaged.passUnretained(exchange).toOpaque(), Unmanaged.passUnretained(sockets).toOpaque())
    if let refusal {
      throw TransferFailure(.beforeRequest, "the request cannot be set up: \(CurlFault.text(refusal))")
    }
  }

  /// Makes the connection close with the transfer, which is under way.
  func forbidReuse() {
    set(CURLOPT_FORBID_REUSE, 1)
  }

  private func setRequest(_ exchange: Exchange) {
    set(CURLOPT_URL, exchange.url.text)
    let length = exchange.body.length
    let announcesLength =
      switch exchange.method {
      case .post, .put, .patch: true
      case .get, .delete: length > 0
      }
    if announcesLength {
      // An upload has no default Content-Type, and its body comes from the read hook alone, never from stdin.
      set(CURLOPT_UPLOAD, 1)
      take(ccurl_set_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(length)))
      // Always set: libcurl keeps the old buffer over a reset, whatever its size was.
      set(CURLOPT_UPLOAD_BUFFERSIZE, Int(min(max(length, EasyHandle.leastBuffer), 512 << 10)))
    } else {
      set(CURLOPT_HTTPGET, 1)
    }
    set(CURLOPT_CUSTOMREQUEST, exchange.method.rawValue)
    setHeaders(exchange.headers)
  }

  private func setHeaders(_ headers: HeaderFields) {
    curl_slist_free_all(lines)
    lines = nil
    // A line that ends with its colon takes the header away: no wait for 100-continue, and answers are
    // decoded without being asked for (D23).
    append("Expect:")
    if headers["Accept-Encoding"] == nil { append("Accept-Encoding:") }
    for field in headers.fields {
      // To libcurl an empty value is written "Name;".
      let isEmpty = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
      append(isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    take(ccurl_set_lines(pointer, CURLOPT_HTTPHEADER, lines))
  }

  private func append(_ line: String) {
    guard let longer = curl_slist_append(lines, line) else { return take(CURLE_OUT_OF_MEMORY) }
    lines = longer
  }

  private func setBehaviour(_ exchange: Exchange) {
    set(CURLOPT_NOSIGNAL, 1)
    // Without it, taking away a transfer that is resolving its name waits for the resolver.
    set(CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_PATH_AS_IS, 1)
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // Every encoding that this libcurl can decode.
    set(CURLOPT_ACCEPT_ENCODING, "")
    // libcurl shares it out among the addresses of a host; ours ends the attempt.
    set(
      CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(exchange.deadlines.timeouts.connectMs, Int64(Int32.max))))
  }

  private func setConnection(_ url: RequestURL, _ settings: ConnectionSettings) {
    set(
      CURLOPT_HTTP_VERSION, settings.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    if let proxy = settings.proxy {
      set(CURLOPT_PROXY, proxy)
      // Set and empty, so that the environment's no_proxy does not count for it.
      set(CURLOPT_NOPROXY, "")
    }
    // Whatever the system's OpenSSL would still speak.
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    set(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    if let caFile = settings.caFile {
      for (file, folder) in [
        (CURLOPT_CAINFO, CURLOPT_CAPATH), (CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH),
      ] {
        set(file, caFile)
        // The folder has a default too, whose authorities would still count.
        take(ccurl_set_text(pointer, folder, nil))
      }
    }
    guard let credentials = settings.hosts[url.host] else { return }
    if let certFile = credentials.certFile { set(CURLOPT_SSLCERT, certFile) }
    if let keyFile = credentials.keyFile { set(CURLOPT_SSLKEY, keyFile) }
    if !credentials.pinnedPublicKeys.isEmpty {
      set(CURLOPT_PINNEDPUBLICKEY, credentials.pinnedPublicKeys.joined(separator: ";"))
    }
  }

  /// libcurl opens these files on the loop's thread: a FIFO would hold up every transfer until somebody
  /// writes into it. A file that is missing is left to libcurl, which names it.
  private func requireFiles(
    of settings: ConnectionSettings, for url: RequestURL
  ) throws(TransferFailure) {
    guard url.text.hasPrefix("https:") || settings.proxy?.hasPrefix("https:") == true else { return }
    let credentials = settings.hosts[url.host]
    for (file, name) in [
      (settings.caFile, "certificate authorities"), (credentials?.certFile, "client certificate"),
      (credentials?.keyFile, "client key"),
    ] {
      var status = stat()
      guard let file, stat(file, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
      throw TransferFailure(.beforeRequest, "TLS: \(name): not a regular file")
    }
  }

  private func setHooks(_ exchange: UnsafeMutableRawPointer, _ sockets: UnsafeMutableRawPointer) {
    take(ccurl_set_bytes_hook(pointer, CURLOPT_READFUNCTION, CurlHooks.read))
    take(ccurl_set_seek_hook(pointer, CurlHooks.seek))
    take(ccurl_set_bytes_hook(pointer, CURLOPT_HEADERFUNCTION, CurlHooks.head))
    take(ccurl_set_bytes_hook(pointer, CURLOPT_WRITEFUNCTION, CurlHooks.write))
    take(ccurl_set_prereq_hook(pointer, CurlHooks.prereq))
    take(ccurl_set_debug_hook(pointer, CurlHooks.debug))
    for option in [
      CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA,
      CURLOPT_DEBUGDATA,
    ] {
      take(ccurl_set_pointer(pointer, option, exchange))
    }
    take(ccurl_set_open_hook(pointer, CurlHooks.open))
    take(ccurl_set_close_hook(pointer, CurlHooks.close))
    take(ccurl_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, sockets))
    take(ccurl_set_pointer(pointer, CURLOPT_CLOSESOCKETDATA, sockets))
  }

  private func set(_ option: CURLoption, _ value: Int) {
    take(ccurl_set_long(pointer, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) {
    take(ccurl_set_text(pointer, option, value))
  }

  private func take(_ code: CURLcode) {
    if code != CURLE_OK && refusal == nil { refusal = code }
  }
}

extension RequestURL {
  /// The host as `ConnectionSettings.hosts` names it: in lower case, an IPv6 address in its brackets.
  var host: String {
    var rest = origin.text[...]
    if let slash = rest.lastIndex(of: "/") { rest = rest[rest.index(after: slash)...] }
    if let colon = rest.lastIndex(of: ":") { rest = rest[..<colon] }
    return String(rest)
  }
}
