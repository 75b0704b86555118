import Glibc

/// The directory of one queue and the names in it.
struct QueueDirectory: Sendable {
  /// Absolute and without symbolic links.
  let path: String

  static let databaseName = "queue.db"
  /// Behind the name of a database: the files that belong to it.
  static let databaseSuffixes = ["-journal", "-wal", "-shm", ""]

  /// Makes the directory if it is missing, and lets nobody else in (D38).
  init(preparing path: String) throws(StoreError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw .unusable(reason: "the directory has no name", errno: 0)
    }
    QueueDirectory.makeParents(of: path)
    if mkdir(path, 0o700) == -1, errno != EEXIST { throw QueueDirectory.unusable(path) }
    let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw QueueDirectory.unusable(path) }
    defer { close(directory) }
    var status = stat()
    guard fstat(directory, &status) == 0 else { throw QueueDirectory.unusable(path) }
    guard status.st_uid == geteuid() else {
      throw .unusable(reason: "\(path) belongs to another user", errno: 0)
    }
    if status.st_mode & 0o777 != 0o700, fchmod(directory, 0o700) != 0 { throw QueueDirectory.unusable(path) }
    try self.init(existing: path)
    try requireOwnFiles(of: geteuid())
  }

  /// A directory that is there, as it is.
  init(existing path: String) throws(StoreError) {
    guard let real = realpath(path, nil) else { throw QueueDirectory.unusable(path) }
    defer { free(real) }
    self.path = String(cString: real)
  }

  /// Whoever could write into the directory before it was closed may have put a link there, which would have
  /// a file elsewhere read, written and given another mode; a FIFO, for which SQLite would wait; or a
  /// database whose owner can change it any time.
  ///
  /// - Parameter user: nil for one who only looks, also at what is another user's.
  private func requireOwnFiles(of user: uid_t?) throws(StoreError) {
    for suffix in QueueDirectory.databaseSuffixes {
      let file = databasePath + suffix
      var status = stat()
      if lstat(file, &status) != 0 {
        guard errno == ENOENT else { throw QueueDirectory.unusable(path) }
        continue
      }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw .unusable(reason: "\(file) is not a regular file", errno: 0)
      }
      guard user == nil || status.st_uid == user else {
        throw .unusable(reason: "\(file) belongs to another user", errno: 0)
      }
    }
  }

  /// What goes wrong here shows when the directory itself is made.
  private static func makeParents(of path: String) {
    var parent = ""
    for component in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
      parent += "\(component)/"
      mkdir(parent, 0o700)
    }
  }

  private static func unusable(_ path: String) -> StoreError {
    let number = errno
    return .unusable(reason: "the directory \(path) cannot be used", errno: number)
  }

  var databasePath: String { "\(path)/\(QueueDirectory.databaseName)" }

  /// Throws unless a database is there. SQLite would delete a log that lies beside an empty one.
  func requireQueue() throws(StoreError) {
    var status = stat()
    let isThere = stat(databasePath, &status) == 0
    // Nobody can tell whether there is one.
    if !isThere, errno != ENOENT { throw QueueDirectory.unusable(path) }
    guard isThere, status.st_size > 0 else {
      throw .unusable(reason: "\(path) holds no queue; outtray serve makes one", errno: 0)
    }
    try requireOwnFiles(of: nil)
  }

  /// Throws also where the next start has to look at the database first.
  func requireSoundQueue() throws(StoreError) {
    try requireQueue()
    guard notedDamage() == nil else {
      throw .unusable(
        reason: "the database has met damage; the next start of outtray serve looks at it", errno: 0)
    }
  }

  /// Makes an empty database file if there is none. SQLite gives its other files the mode of this one.
  func makeDatabaseFile() throws(StoreError) {
    // Only a new file is opened here: closing a descriptor of one that SQLite holds would drop its locks.
    let file = open(databasePath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file == -1 {
      let number = errno
      if number == EEXIST { return }
      throw .unusable(reason: "\(databasePath) cannot be made", errno: number)
    }
    defer { close(file) }
    // The umask may have taken away from the mode.
    if fchmod(file, 0o600) != 0 { throw QueueDirectory.unusable(path) }
    try sync()
  }

  /// Lets nobody else read files that an earlier umask, or a copy, may have opened up.
  func closeDatabaseFiles() throws(StoreError) {
    for suffix in QueueDirectory.databaseSuffixes
    where chmod(databasePath + suffix, 0o600) != 0 && errno != ENOENT {
      throw QueueDirectory.unusable(path)
    }
  }

  /// Gives a damaged database a new name, which no later start looks at. The name.
  func setDatabaseAside(at wall: Int64) throws(StoreError) -> String {
    var aside = "\(QueueDirectory.databaseName).damaged-\(wall)"
    while access("\(path)/\(aside)", F_OK) == 0 { aside += "-again" }
    // The log goes first: a log left beside a new database would be taken for that one's.
    try closeDatabaseFiles()
    for suffix in QueueDirectory.databaseSuffixes
    where rename(databasePath + suffix, "\(path)/\(aside)\(suffix)") != 0 && errno != ENOENT {
      throw QueueDirectory.unusable(path)
    }
    try sync()
    return aside
  }

  /// A log whose database is missing or empty, as a power cut or a person may leave it, would be deleted by
  /// SQLite. It goes under a new name, since nobody else has what is in it. The name, or nil.
  func setLonelyLogAside(at wall: Int64) throws(StoreError) -> String? {
    func size(_ suffix: String) -> Int {
      var status = stat()
      return stat(databasePath + suffix, &status) == 0 ? Int(status.st_size) : 0
    }
    guard size("") == 0, size("-wal") > 0 else { return nil }
    return "\(try setDatabaseAside(at: wall))-wal"
  }

  // MARK: Damage that was met while running

  private var damagePath: String { "\(path)/damage" }

  /// Has the next start look at the whole database. Best effort: without the note the damage is met again
  /// where it is.
  func noteDamage(_ message: String) {
    // Without waiting: a FIFO in its place must not hold up anything, here and below.
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    let file = open(damagePath, flags, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    let text = Array(message.utf8.prefix(1000))
    if write(file, text, text.count) == text.count, fsync(file) == 0 { try? sync() }
  }

  /// What an earlier process noted, or nil.
  func notedDamage() -> String? {
    let file = open(damagePath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1000)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  func forgetDamage() { unlink(damagePath) }

  /// Makes the names in the directory survive a power cut.
  func sync() throws(StoreError) {
    let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw QueueDirectory.unusable(path) }
    defer { close(directory) }
    if fsync(directory) != 0 { throw QueueDirectory.unusable(path) }
  }

  /// Makes the names that lead to the directory survive a power cut, up to where its file system begins: this
  /// process, or one that was killed, may have made any of them.
  func syncAncestors() throws(StoreError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw QueueDirectory.unusable(path) }
    let device = status.st_dev
    var ancestor = path[...]
    while let slash = ancestor.lastIndex(of: "/"), ancestor != "/" {
      ancestor = slash == path.startIndex ? "/" : path[..<slash]
      let directory = Glibc.open(String(ancestor), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      // One that may not be read was not made here.
      guard directory >= 0 else { return }
      defer { close(directory) }
      guard fstat(directory, &status) == 0, status.st_dev == device else { return }
      if fsync(directory) != 0 { throw QueueDirectory.unusable(String(ancestor)) }
    }
  }
}
