import Glibc
import JSONText
import OuttrayProtocol
import QueueModel

/// The full screen: reads the database, hears the process that serves the queue, and obeys keys. One thread.
final class WatchScreen {
  let directory: String
  let key: String?
  let around: Surroundings
  let terminal = Terminal()
  private let glyphs: Glyphs
  private var painter: Painter
  private var keyboard = Keyboard()
  var scene = Scene()
  var viewport = Viewport()
  var rows = WatchRows()
  var contact: Contact?
  var timing = WatchTiming()
  private var size = (columns: 80, rows: 24)
  /// Set when it is over; a signal's number, or 0.
  var ending: Int32?

  init(_ directory: String, key: String?, _ around: Surroundings) {
    self.directory = directory
    self.key = key
    self.around = around
    glyphs = Glyphs(Output.variable)
    painter = Painter(isColoured: around.output.isColoured)
    scene.directory = directory
    scene.key = key
  }

  func run() throws(Failure) -> Int32 {
    size = terminal.size
    // What is wrong with the directory is told as any command tells it.
    try refresh()
    let signals = try TerminalSignals()
    defer { terminal.leave() }
    try terminal.enter()
    while ending == nil {
      attach()
      if timing.isRefreshDue(at: LiveQueue.now()) { refreshOrTell() }
      ask()
      try paint()
      try wait(signals)
    }
    terminal.leave()
    if let ending, ending != 0 { end(bySignal: ending) }
    return Status.success
  }

  // MARK: Waiting

  private func wait(_ signals: TerminalSignals) throws(Failure) {
    let silent = Int32(-1)
    var watched = [signals.descriptor, terminal.keys ?? silent, contact?.descriptor ?? silent].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let now = LiveQueue.now()
    var patience = contact?.hasMore == true ? 0 : timing.patience(at: now)
    if keyboard.isInside { patience = min(patience, WatchTiming.escape) }
    let count = poll(&watched, nfds_t(watched.count), Int32(clamping: patience))
    guard count >= 0 || errno == EINTR else {
      throw Failure(Status.internalError, "poll: \(String(cString: strerror(errno)))")
    }
    if watched[0].revents != 0 { try obey(signals.caught(), signals) }
    if watched[1].revents != 0 {
      guard let bytes = terminal.typed() else { return ending = SIGHUP }
      try obey(keyboard.feed(bytes), signals)
    } else if count == 0, keyboard.isInside {
      try obey(keyboard.flush(), signals)
    }
    if watched[2].revents != 0 || contact?.hasMore == true { hear() }
  }

  private func obey(_ caught: [Int32], _ signals: TerminalSignals) throws(Failure) {
    for number in caught {
      switch number {
      case SIGWINCH: resize()
      case SIGTSTP: try suspend(signals, isForAll: false)
      case SIGCONT: try comeBack()
      default: ending = number
      }
    }
  }

  private func obey(_ keys: [Key], _ signals: TerminalSignals) throws(Failure) {
    for key in keys {
      guard let wish = Wish(key, in: scene.mode) else { continue }
      scene.message = nil
      switch wish {
      case .suspend: try suspend(signals, isForAll: true)
      case .interrupt: ending = SIGINT
      case .redraw:
        painter.forget()
        timing.wantsRefresh()
      default: try obey(wish)
      }
      timing.wantsPaint()
    }
  }

  private func suspend(_ signals: TerminalSignals, isForAll: Bool) throws(Failure) {
    terminal.leave()
    signals.stop(isForAll: isForAll)
    try comeBack()
  }

  private func comeBack() throws(Failure) {
    try terminal.enter()
    resize()
  }

  private func resize() {
    size = terminal.size
    painter.forget()
    timing.wantsRefresh(soon: true)
    timing.wantsPaint()
  }

  // MARK: Drawing

  private func paint() throws(Failure) {
    let now = LiveQueue.now()
    guard timing.isPaintDue(at: now) else { return }
    if let until = messageUntil, now >= until { scene.message = nil }
    scene.items = rows.items(at: now, isServed: contact != nil)
    scene.selected = viewport.selected
    scene.speed = contact == nil ? nil : rows.traffic.perSecond(at: now)
    let picture = Picture(scene, columns: size.columns, rows: size.rows, glyphs)
    let text = painter.paint(picture, columns: size.columns)
    if !text.isEmpty { try terminal.write(text) }
    timing.painted(at: now)
  }

  private var messageUntil: Int64?

  /// Shows something for some seconds.
  func tell(_ message: String) {
    scene.message = message
    messageUntil = LiveQueue.now() + WatchTiming.message
    timing.wantsPaint()
  }

  // MARK: Reading

  /// How many rows of entries there is room for.
  var room: Int { Picture(scene, columns: size.columns, rows: size.rows, glyphs).room }

  func refreshOrTell() {
    do throws(Failure) { try refresh() } catch { tell(error.message) }
  }

  /// Reads again all that is shown; `look` moves what is looked at.
  func refresh(_ look: (inout Viewport, Listing, Int) throws(Failure) -> Void = { _, _, _ in })
    throws(Failure)
  {
    let begin = LiveQueue.now()
    defer { timing.refreshed(from: begin, to: LiveQueue.now()) }
    let reading = try WatchReading(directory, key: key)
    let gates = reading.queue.gates
    scene.counts = reading.counts
    scene.isPaused = gates.paused
    scene.pausedKeys = gates.pausedKeys.map(\.text).filter { key == nil || $0 == key }.sorted()
    scene.network = gates.wifiOnly ? rows.network.map { "wifi only, network \($0)" } ?? "wifi only" : nil
    let listing = reading.listing(scene.order, scene.filter)
    let room = room
    try look(&viewport, listing, room)
    try viewport.refresh(listing, room: room)
    try rows.take(reading, viewport.places)
  }

  // MARK: The process that serves

  private func attach() {
    let now = LiveQueue.now()
    guard contact == nil, timing.isAttachDue(at: now) else { return }
    contact = Contact(to: directory, key: key, around)
    timing.triedToAttach(at: LiveQueue.now())
    scene.server = contact.map { .process($0.process) } ?? .nobody
    guard contact != nil else { return }
    rows.forgetTold()
    timing.wantsRefresh()
    timing.wantsPaint()
  }

  private func ask() {
    let now = LiveQueue.now()
    guard let contact else { return }
    let isSilent = contact.silence(at: now) > WatchTiming.silence
    let server = isSilent ? Scene.Server.silent(contact.process) : .process(contact.process)
    if server != scene.server {
      scene.server = server
      timing.wantsPaint()
    }
    guard timing.isAskDue(at: now), !contact.isAsking else { return }
    timing.asked(at: now)
    contact.askStats(at: now)
    for id in rows.idsToExplain { contact.askExplanation(of: id, at: now) }
    for id in rows.idsInFlight { contact.askBytes(of: id, at: now) }
  }

  private func hear() {
    guard let contact else { return }
    let now = LiveQueue.now()
    for news in contact.news() {
      switch news {
      case .state(let params):
        rows.heard(state: params, at: now)
        timing.wantsRefresh()
      case .progress(let id, let sent): rows.traffic.note(id, bytes: sent, at: now)
      case .missed: timing.wantsRefresh()
      case .holds(let id, let holds): rows.explained(id, holds)
      case .network(let kind, let isMetered): rows.network = isMetered ? "\(kind), metered" : kind
      case .done(let message):
        tell(message)
        timing.wantsRefresh(soon: true)
      case .refused(let message): tell(message)
      case .ended:
        self.contact = nil
        scene.server = .nobody
        rows.forgetTold()
        timing.wantsRefresh(soon: true)
        timing.wantsPaint()
      }
    }
    timing.heard()
  }
}
