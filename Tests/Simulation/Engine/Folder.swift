import Disk
import Glibc

/// The real part of the disk: sources of the hosts, and the folder of the queue with bodies and with files of
/// others. In memory where there is a file system of it.
struct Folder {
  let root: String
  private var bodyFolders: [String] = []
  /// What somebody else has put there: by no rule ours to delete.
  private var foreign: [String] = []

  var queue: String { "\(root)/queue" }
  var sources: String { "\(root)/sources" }
  private var removed: String { "\(root)/removed" }

  init() {
    let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    root = "\(parent)/outtray-simulation-\(getpid())"
    for path in [root, queue, sources, removed] { mkdir(path, 0o700) }
  }

  func remove() {
    func removeAll(_ path: String) {
      for name in Folder.names(in: path) { removeAll("\(path)/\(name)") }
      if Glibc.remove(path) != 0 { unlink(path) }
    }
    removeAll(root)
  }

  /// Empty but for the folder of bodies and the files of others.
  func reset() {
    for name in Folder.names(in: sources) { Glibc.remove("\(sources)/\(name)") }
    for name in Folder.names(in: removed) { Glibc.remove("\(removed)/\(name)") }
    for folder in bodyFolders {
      for name in Folder.names(in: folder) { Glibc.remove("\(folder)/\(name)") }
    }
    for path in foreign { Folder.write(Array("somebody's".utf8), to: path) }
  }

  /// The template names the folder of bodies for all histories.
  mutating func findBodyFolders() {
    bodyFolders = Folder.names(in: queue).filter { $0.hasPrefix("bodies-") }.map { "\(queue)/\($0)" }
    foreign = ["\(queue)/notes.txt", "\(sources)/kept"] + bodyFolders.map { "\($0)/letter" }
  }

  var files: Files {
    let names = bodyFolders.flatMap(Folder.names).filter { $0 != "letter" }
    return Files(
      sources: Set(Folder.names(in: sources)),
      foreign: Set(foreign.indices.filter { access(foreign[$0], F_OK) == 0 }.map { "foreign\($0)" }),
      bodies: names.count)
  }

  /// Makes and removes a name as the product does.
  func touch() {
    let directory = open(queue, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    let file = openat(directory, "touched", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    close(file)
    unlinkat(directory, "touched", 0)
    fsync(directory)
    close(directory)
  }

  /// A source as a host writes it, always with the same time. It is a file of its own: a body may be a link
  /// to the one before.
  func write(_ bytes: [UInt8], source: String) {
    let path = "\(sources)/\(source)"
    Glibc.remove(path)
    Folder.write(bytes, to: path)
    let times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 0), timespec(tv_sec: 1_700_000_000, tv_nsec: 0)]
    utimensat(AT_FDCWD, path, times, 0)
  }

  /// nil when it is not there.
  func size(source: String) -> Int? {
    var status = stat()
    return stat("\(sources)/\(source)", &status) == 0 ? Int(status.st_size) : nil
  }

  private static func write(_ bytes: [UInt8], to path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count else {
      preconditionFailure("\(path) cannot be written: \(errno)")
    }
    close(file)
  }

  static func read(_ path: [UInt8], from offset: Int64, _ length: Int) -> [UInt8]? {
    let name = path.map { CChar(bitPattern: $0) } + [0]
    let file = open(name, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: length)
    let count = pread(file, &bytes, length, off_t(offset))
    return count == length ? bytes : nil
  }

  static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}
