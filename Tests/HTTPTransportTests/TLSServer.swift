import Foundation
import Synchronization

/// Keys and certificates made with the openssl program, in a folder of their own.
final class CertificateFolder: Sendable {
  static let openssl = "/usr/bin/openssl"
  static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: openssl) }

  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "transport-tls-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  struct Pair: Sendable {
    var certificate: String
    var key: String
  }

  /// A self-signed certificate; with `expired`, one of the year 2020.
  func make(_ name: String, subject: String, expired: Bool = false) throws -> Pair {
    let pair = Pair(certificate: "\(path)/\(name).pem", key: "\(path)/\(name).key")
    let request = "\(path)/\(name).csr"
    try run([
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", pair.key,
      "-out",
      request, "-subj", "/CN=\(name)",
    ])
    let settings = """
      [ca]
      default_ca = own
      [own]
      database = \(path)/\(name).index
      rand_serial = yes
      new_certs_dir = \(path)
      default_md = sha256
      policy = any
      x509_extensions = extensions
      [any]
      commonName = supplied
      [extensions]
      subjectAltName = \(subject)
      basicConstraints = CA:TRUE
      """
    try settings.write(toFile: "\(path)/\(name).cnf", atomically: true, encoding: .utf8)
    try "".write(toFile: "\(path)/\(name).index", atomically: true, encoding: .utf8)
    try run([
      "ca", "-batch", "-selfsign", "-config", "\(path)/\(name).cnf", "-in", request, "-out", pair.certificate,
      "-keyfile", pair.key, "-notext", "-startdate", "20200101000000Z", "-enddate",
      expired ? "20200102000000Z" : "20990101000000Z",
    ])
    return pair
  }

  /// As `CURLOPT_PINNEDPUBLICKEY` and D24 write it.
  func pin(of pair: Pair) throws -> String {
    let key = try run(["x509", "-in", pair.certificate, "-noout", "-pubkey"])
    let der = try run(["pkey", "-pubin", "-outform", "der"], input: key)
    return "sha256//" + Data(try run(["dgst", "-sha256", "-binary"], input: der)).base64EncodedString()
  }

  @discardableResult
  private func run(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
    let program = try Program(CertificateFolder.openssl, arguments)
    program.write(input)
    program.endInput()
    var output: [UInt8] = []
    while let bytes = program.read() { output += bytes }
    guard program.end() == 0 else { throw Program.Failed() }
    return output
  }
}

/// `openssl s_server` on loopback: gives one answer to the first request and keeps what it received.
final class TLSServer: Sendable {
  let port: UInt16
  private let program: Program
  private let output: Output

  private final class Output: Sendable {
    let text = Mutex("")
    let isListening = DispatchSemaphore(value: 0)
  }

  init(
    _ pair: CertificateFolder.Pair, answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    arguments: [String] = []
  ) throws {
    let program = try Program(
      CertificateFolder.openssl,
      ["s_server", "-accept", "127.0.0.1:0", "-cert", pair.certificate, "-key", pair.key] + arguments)
    let output = Output()
    Thread {
      var hasAnswered = false
      while let bytes = program.read() {
        let text = output.text.withLock {
          $0 += String(decoding: bytes, as: UTF8.self)
          return $0
        }
        if text.contains("ACCEPT"), text.contains("\n") { output.isListening.signal() }
        if !hasAnswered, text.contains("HTTP/1.1\r\n"), text.contains("\r\n\r\n") {
          hasAnswered = true
          program.write(Array(answer.utf8))
        }
      }
      output.isListening.signal()
    }.start()
    output.isListening.wait()
    let line = output.text.withLock { $0 }.split(separator: "\n").first { $0.hasPrefix("ACCEPT") } ?? ""
    port = line.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    self.program = program
    self.output = output
  }

  deinit {
    program.terminate()
  }

  var received: String { output.text.withLock { $0 } }

  func url(_ path: String = "/", host: String = "127.0.0.1") -> String { "https://\(host):\(port)\(path)" }
}
