import Glibc

/// What a process that dies of a fault may leave of its memory, which holds tokens and bodies (D38).
enum CoreFiles {
  /// Has the kernel write none. Whoever wants one says so: `prlimit --core=unlimited --pid PID`.
  static func forbid() {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return }
    // Not 0: a program that the kernel hands core files to gets them then all the same. A limit of 1 means
    // neither program nor file.
    limit.rlim_cur = min(1, limit.rlim_max)
    setrlimit(resource, &limit)
  }
}
