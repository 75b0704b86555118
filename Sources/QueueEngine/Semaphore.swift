import Glibc

/// A POSIX semaphore.
package final class Semaphore: @unchecked Sendable {
  // sem_t must not move, so it lives on the heap; its functions are made for use from several threads.
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  package init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  package func post() { sem_post(semaphore) }

  package func wait() {
    while sem_wait(semaphore) == -1 && errno == EINTR {}
  }
}
