package import QueueModel
import QueueStore
import Synchronization

/// A clock that stands still until it is moved, so that two hours of backoff pass at once in a test.
package final class VirtualClock: Clock {
  private struct Readings {
    var wall: Int64
    var boot: Int64
    /// Queue time minus boot time.
    var offset: Int64 = 0
  }

  private let readings: Mutex<Readings>

  /// Beyond this a calendar of ECMAScript names no day, ms since the epoch.
  package static let latest: Int64 = 8_640_000_000_000_000

  /// `now` is the wall clock and CLOCK_BOOTTIME.
  package init(_ now: Moment) {
    readings = Mutex(Readings(wall: now.wall, boot: now.steady))
  }

  package func now() -> Moment {
    readings.withLock { Moment(wall: $0.wall, steady: $0.boot + $0.offset) }
  }

  /// Wall clock and boot time, as a store is opened with.
  package func atBoot() -> Moment {
    readings.withLock { Moment(wall: $0.wall, steady: $0.boot) }
  }

  /// Goes on where the queue's last process stood, which may have been moved ahead of the machine.
  ///
  /// - Parameters:
  ///   - offset: what queue time is ahead of CLOCK_BOOTTIME, ms.
  ///   - wall: the wall clock never shows less.
  package func goOn(offset: Int64, notBefore wall: Int64) {
    readings.withLock {
      $0.offset = offset
      $0.wall = max($0.wall, wall)
    }
  }

  /// Moves it. False, and nothing is moved, when it would pass `latest`.
  func advance(by milliseconds: Int64) -> Bool {
    readings.withLock {
      guard milliseconds <= VirtualClock.latest - $0.wall else { return false }
      $0.wall += milliseconds
      $0.boot += milliseconds
      return true
    }
  }
}

extension EngineThread {
  /// Moves the clock between two turns, for later processes too: what was submitted before is decided at the
  /// old time. Answers with the new wall clock, ms, once everything that is due by then has been begun or
  /// settled, as far as there are slots.
  package func advance(
    _ clock: VirtualClock, by milliseconds: Int64, _ reply: @escaping Completion<Int64>
  ) {
    betweenTurns { engine in
      guard clock.advance(by: milliseconds) else {
        let message = "must not move the clock beyond \(VirtualClock.latest)"
        return reply(.failure(.invalid(InvalidInput(path: "ms", message: message))))
      }
      do throws(StoreError) {
        if let doubt = engine.doubt { throw .unsettled(turn: doubt.number, message: "it is tried again") }
        try engine.store.noteTime()
      } catch {
        _ = clock.advance(by: -milliseconds)
        return reply(.failure(.storage(error.message)))
      }
      engine.catchUp()
      reply(.success(clock.now().wall))
    }
  }
}

extension QueueEngine {
  /// Turns until one has nothing left to change.
  func catchUp() {
    var before: Int64
    repeat {
      before = state.counters.commits
      process([.tick])
    } while state.counters.commits != before
  }
}
