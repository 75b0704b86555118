import Glibc

/// A directory of the check's own, readable by its user alone.
struct TemporaryFolder {
  /// Absolute.
  let path: String

  struct Unusable: Error {
    let message: String
  }

  /// Makes one inside `parent`.
  init(in parent: String) throws(Unusable) {
    guard let absolute = realpath(parent, nil) else {
      throw Unusable(message: "\(parent): \(String(cString: strerror(errno)))")
    }
    defer { free(absolute) }
    guard let template = strdup(String(cString: absolute) + "/outtray-check-XXXXXX") else {
      throw Unusable(message: "\(parent): out of memory")
    }
    defer { free(template) }
    guard mkdtemp(template) != nil else {
      throw Unusable(message: "\(parent): \(String(cString: strerror(errno)))")
    }
    path = String(cString: template)
  }

  /// Makes a folder in it; gives its path.
  func makeFolder(_ name: String) throws(Setback) -> String {
    let folder = "\(path)/\(name)"
    guard mkdir(folder, 0o700) == 0 else {
      throw .unmet("\(folder): \(String(cString: strerror(errno)))")
    }
    return folder
  }

  /// Removes it with all that is in it. False when something of it is still there.
  func remove() -> Bool {
    TemporaryFolder.remove(path)
  }

  private static func remove(_ path: String) -> Bool {
    if unlink(path) == 0 { return true }
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { _ = remove("\(path)/\(name)") }
      }
      closedir(folder)
    }
    return rmdir(path) == 0
  }
}
