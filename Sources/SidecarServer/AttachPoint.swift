import CLinux
import Glibc

/// The socket in the queue's directory through which further processes reach the one that owns it (protocol,
/// section 5).
final class AttachPoint {
  let descriptor: Int32
  private let directory: Int32

  /// Listens in `directory`, whose lock the caller holds: a socket that is there is one that was left behind.
  init(in directory: String) throws(LoopError) {
    self.directory = try AttachPoint.open(directory)
    unlinkat(self.directory, AttachPoint.name, 0)
    descriptor = try AttachPoint.makeSocket()
    var address = try AttachPoint.address(in: self.directory)
    // Made for nobody else from the start; a mode that is set afterwards would leave a moment between.
    let mask = umask(0o177)
    let isBound = AttachPoint.call(bind, descriptor, &address)
    umask(mask)
    guard isBound else { throw LoopError("bind", errno) }
    guard listen(descriptor, 64) == 0 else { throw LoopError("listen", errno) }
  }

  deinit {
    unlinkat(directory, AttachPoint.name, 0)
    close(descriptor)
    close(directory)
  }

  enum Arrival {
    case connected(Int32)
    /// Nobody waits, or it was another user's.
    case nobody
    /// The process cannot have another descriptor now.
    case noRoom
  }

  /// The next process that waits to be let in.
  func accept() -> Arrival {
    let arrived = Glibc.accept(descriptor, nil, nil)
    guard arrived >= 0 else { return [EMFILE, ENFILE, ENOMEM].contains(errno) ? .noRoom : .nobody }
    guard clinux_peer_user(arrived) == Int64(geteuid()) else {
      close(arrived)
      return .nobody
    }
    _ = fcntl(arrived, F_SETFD, FD_CLOEXEC)
    return .connected(arrived)
  }

  /// A connection to the process that owns `directory`; nil when none listens there, or one of another user:
  /// it would be told requests, headers included.
  static func connect(to directory: String) -> Int32? {
    guard let folder = try? open(directory), let made = try? makeSocket() else { return nil }
    defer { close(folder) }
    _ = fcntl(made, F_SETFL, 0)
    guard var address = try? address(in: folder), call(Glibc.connect, made, &address),
      clinux_peer_user(made) == Int64(geteuid())
    else {
      close(made)
      return nil
    }
    return made
  }

  private static let name = "socket"

  private static func open(_ directory: String) throws(LoopError) -> Int32 {
    let folder = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw LoopError("open", errno) }
    return folder
  }

  private static func makeSocket() throws(LoopError) -> Int32 {
    let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | clinux_socket_flags, 0)
    guard made >= 0 else { throw LoopError("socket", errno) }
    return made
  }

  /// Through the descriptor of the directory, since an address has room for 107 bytes and a directory's name
  /// may have more.
  private static func address(in folder: Int32) throws(LoopError) -> sockaddr_un {
    var address = sockaddr_un()
    guard clinux_unix_address("/proc/self/fd/\(folder)/\(name)", &address) != 0 else {
      throw LoopError("bind", ENAMETOOLONG)
    }
    return address
  }

  private static func call(
    _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32,
    _ address: inout sockaddr_un
  ) -> Bool {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}

/// The first line in each direction between a process that attaches and the owner.
enum AttachGreeting {
  /// What a host that attaches wants of the process that owns the queue.
  struct Wish: Equatable {
    /// Once it is gone.
    var onDisconnect = OnDisconnect.exit
    var keepsAwake = false

    fileprivate var text: String { onDisconnect.text + (keepsAwake ? " keep-awake" : "") }

    init(onDisconnect: OnDisconnect = .exit, keepsAwake: Bool = false) {
      self.onDisconnect = onDisconnect
      self.keepsAwake = keepsAwake
    }

    fileprivate init?(_ words: ArraySlice<Substring>) {
      guard let first = words.first, let onDisconnect = OnDisconnect(String(first)),
        [[], ["keep-awake"]].contains(words.dropFirst())
      else { return nil }
      self.init(onDisconnect: onDisconnect, keepsAwake: words.count > 1)
    }
  }

  /// Who attaches.
  enum Arrival: Equatable {
    case host(Wish)
    /// A command that somebody typed. It may call what a host may, and the life of the process does not
    /// depend on it: nobody stays for it, and its going ends nothing.
    case visitor

    fileprivate var text: String {
      switch self {
      case .host(let wish): wish.text
      case .visitor: "visit"
      }
    }
  }

  /// The line of the process that attaches.
  static func request(_ arrival: Arrival) -> [UInt8] {
    Array("outtray-attach \(version) \(arrival.text)\n".utf8)
  }

  static let accepted = Array("outtray-attach \(version)\n".utf8)

  /// Reads `request` without its line end; nil when it is none of this version's.
  static func read(_ line: [UInt8]) -> Arrival? {
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard words.count >= 3, words[0] == "outtray-attach", words[1] == "\(version)" else { return nil }
    if words[2...] == ["visit"] { return .visitor }
    return Wish(words[2...]).map { .host($0) }
  }

  /// Greets at a connection to the owner; false when it does not answer before `deadline`, boot clock in ms.
  static func exchange(_ arrival: Arrival, on descriptor: Int32, before deadline: Int64) -> Bool {
    let line = request(arrival)
    let sent = line.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    return sent == line.count && reads(accepted, from: descriptor, before: deadline)
  }

  /// Reads exactly `expected`, byte by byte, so that nothing behind it is taken.
  private static func reads(_ expected: [UInt8], from descriptor: Int32, before deadline: Int64) -> Bool {
    for byte in expected {
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let wait = max(0, deadline - SystemClock.bootTime())
      guard poll(&ready, 1, Int32(clamping: wait)) == 1 else { return false }
      var found: UInt8 = 0
      guard Glibc.read(descriptor, &found, 1) == 1, found == byte else { return false }
    }
    return true
  }

  private static let version = 1
}
