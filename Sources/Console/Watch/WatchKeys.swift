import JSONText
import OuttrayProtocol
import QueueModel

/// What keys do.
extension WatchScreen {
  func obey(_ wish: Wish) throws(Failure) {
    switch wish {
    case .move(let rows):
      look { view, list, room throws(Failure) in try view.move(by: rows, list, room: room) }
    case .page(let direction):
      look { view, list, room throws(Failure) in try view.page(direction, list, room: room) }
    case .first: look { view, list, room throws(Failure) in try view.goToBeginning(list, room: room) }
    case .last: look { view, list, room throws(Failure) in try view.goToEnd(list, room: room) }
    case .sort:
      scene.order = scene.order.next
      tell(scene.order.words)
      look { view, _, _ in view.reset() }
    case .filter:
      scene.filter = scene.filter.next
      tell(scene.filter.words)
      look { view, _, _ in view.reset() }
    case .help: scene.mode = .help
    case .goBack: scene.mode = .rows
    case .quit: ending = 0
    case .redraw, .suspend, .interrupt: break
    case .pauseQueue: change(.pause, done: "paused: the whole queue") { _ in }
    case .resumeQueue: change(.resume, done: "resumed: the whole queue") { _ in }
    case .pauseKey, .resumeKey, .askToCancel, .cancel, .retry: act(wish)
    }
  }

  private func look(_ look: (inout Viewport, Listing, Int) throws(Failure) -> Void) {
    do throws(Failure) { try refresh(look) } catch { tell(error.message) }
    timing.wantsAsk()
  }

  /// Wishes about the row that is selected.
  private func act(_ wish: Wish) {
    if case .cancel = wish {
      guard case .asking(let id) = scene.mode else { return }
      scene.mode = .rows
      return cancel(id)
    }
    guard let row = rows[viewport.selected] else { return tell("there is no entry") }
    switch wish {
    case .pauseKey: change(.pause, done: "paused: key \(row.key.text)") { $0.member("keys", [row.key.text]) }
    case .resumeKey:
      change(.resume, done: "resumed: key \(row.key.text)") { $0.member("keys", [row.key.text]) }
    case .retry: change(.retry, done: "due now: \(row.id.text)") { $0.member("id", row.id.text) }
    case .askToCancel:
      if row.state.isSettled { return tell("it has settled; outtray cancel forgets it") }
      scene.mode = .asking(id: row.id.text)
    default: break
    }
  }

  /// What has settled meanwhile is left alone: cancelling it would take its outcome away from the host.
  private func cancel(_ id: String) {
    do throws(Failure) {
      let queue = try StoredQueue(directory)
      let row = queue.row(try queue.entry(id))
      guard !row.state.isSettled else { return tell("it has settled meanwhile") }
    } catch {
      return tell(error.message)
    }
    change(.cancel, done: "cancelled: \(id)") { $0.member("id", id) }
  }

  private func change(_ method: Method, done: String, _ params: (inout JSONWriter) -> Void) {
    if let contact { return contact.change(method, done: done, at: LiveQueue.now(), params) }
    do throws(Failure) {
      try around.change(directory) { live, _, _ throws(Failure) in _ = try live.call(method, params) }
      tell(done)
    } catch {
      tell(error.message)
    }
    refreshOrTell()
  }
}
