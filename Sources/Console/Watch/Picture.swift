import QueueModel

/// The lines of a window, from what it shows and how large it is.
struct Picture {
  /// Exactly as many as the window has, none wider than it is.
  let strips: [Strip]
  /// How many rows of entries there is room for.
  let room: Int

  init(_ scene: Scene, columns: Int, rows: Int, _ glyphs: Glyphs) {
    let writer = PictureWriter(scene: scene, columns: max(1, columns), glyphs: glyphs)
    let layout = RowLayout(columns: max(1, columns), glyphs)
    // What a low window does without stands first.
    var top: [(drop: Int, strip: Strip)] = [(3, writer.title)]
    if let server = writer.ownLineOfServer { top.append((2, server)) }
    top.append((4, writer.counts))
    if let conditions = writer.conditions { top.append((1, conditions)) }
    top.append((0, scene.mode == .help ? Strip() : layout.head))
    let wantsFoot = scene.message != nil || scene.mode != .rows
    var foot: [Strip] = [writer.foot]
    while top.count + foot.count + 3 > rows, let least = top.map(\.drop).min() {
      if least >= 3, !foot.isEmpty, !wantsFoot {
        foot = []
      } else {
        top.removeAll { $0.drop == least }
      }
    }
    if rows <= 1 { foot = wantsFoot ? foot : [] }
    room = max(0, rows - top.count - foot.count)
    let middle: [Strip]
    switch scene.mode {
    case .help: middle = Array(writer.help.prefix(room))
    case .rows, .asking:
      middle =
        scene.items.isEmpty
        ? Array([writer.emptiness].prefix(room))
        : scene.items.prefix(room).enumerated().map { position, item in
          layout.line(item, isSelected: position == scene.selected)
        }
    }
    let blank = Array(repeating: Strip(), count: room - middle.count)
    let lines = top.map(\.strip) + middle + blank + foot
    strips = lines.prefix(max(0, rows)).map { $0.cut(to: max(1, columns), glyphs) }
  }
}

/// The lines around the rows.
private struct PictureWriter {
  let scene: Scene
  let columns: Int
  let glyphs: Glyphs

  // MARK: Above

  private var server: Strip {
    switch scene.server {
    case .nobody: Strip("nobody serves this queue", .yellow)
    case .process(let number): Strip("served by process \(number)", .green)
    case .silent(let number): Strip("process \(number) does not answer", .yellow)
    }
  }

  private static let leastTitle = 10

  private var sharesLine: Bool { columns - server.width - 2 >= PictureWriter.leastTitle }

  var title: Strip {
    let room = sharesLine ? columns - server.width - 2 : columns
    var strip = Strip(
      glyphs.cutBeginning(of: glyphs.clean(scene.directory), to: room), isBold: true)
    guard sharesLine else { return strip }
    strip.fill(to: columns - server.width)
    strip.add(server)
    return strip
  }

  var ownLineOfServer: Strip? { sharesLine ? nil : server }

  var counts: Strip {
    let speed = scene.speed.map { "\(Brief.bytes($0))/s" } ?? ""
    let states = Row.State.allCases.sorted { PictureWriter.rank($0) < PictureWriter.rank($1) }
      .filter { scene.counts[$0] ?? 0 > 0 }
    func strip(_ name: (Row.State) -> String) -> Strip {
      guard !states.isEmpty else { return Strip("no entries", .faint) }
      var strip = Strip()
      for state in states {
        strip.add(
          "\(strip.pieces.isEmpty ? "" : "  ")\(scene.counts[state] ?? 0) \(name(state))", state.colour)
      }
      return strip
    }
    let room = columns - (speed.isEmpty ? 0 : speed.count + 2)
    var line = strip(\.rawValue)
    if line.width > room { line = strip(Brief.state) }
    guard !speed.isEmpty, room > 0 else { return line }
    line = line.cut(to: room, glyphs)
    line.fill(to: columns - speed.count)
    line.add(speed, isBold: true)
    return line
  }

  private static func rank(_ state: Row.State) -> Int {
    switch state {
    case .running: 0
    case .queued: 1
    case .awaitingAuth: 2
    case .paused: 3
    case .error: 4
    case .completed: 5
    case .cancelled: 6
    }
  }

  /// What holds for the whole, and what is shown of it.
  var conditions: Strip? {
    var texts: [(String, Colour?)] = []
    if scene.isPaused { texts.append(("queue paused", .yellow)) }
    if !scene.pausedKeys.isEmpty {
      texts.append(("paused keys: \(scene.pausedKeys.map(glyphs.clean).joined(separator: ", "))", .yellow))
    }
    if let network = scene.network { texts.append((glyphs.clean(network), .yellow)) }
    if let key = scene.key { texts.append(("key \(glyphs.clean(key))", nil)) }
    if scene.filter != .all { texts.append((scene.filter.words, .cyan)) }
    if scene.order != .runningFirst { texts.append((scene.order.words, .cyan)) }
    guard !texts.isEmpty else { return nil }
    var strip = Strip()
    for (text, colour) in texts {
      if !strip.pieces.isEmpty { strip.add(glyphs.dot, .faint) }
      strip.add(text, colour)
    }
    return strip
  }

  var emptiness: Strip {
    let text =
      scene.filter == .all
      ? (scene.key == nil ? "The queue is empty." : "No entry has this key.") : "No entry of those."
    return Strip("  \(text)", .faint)
  }

  // MARK: Below

  var foot: Strip {
    switch scene.mode {
    case .asking(let id):
      let (before, behind) = ("cancel ", "? y/n")
      let room = columns - before.count - behind.count
      return Strip(before + glyphs.cut(glyphs.clean(id), to: max(1, room)) + behind, .yellow, isBold: true)
    case .help: return Strip("any key goes back", .faint)
    case .rows:
      if let message = scene.message { return Strip(glyphs.clean(message), .yellow) }
      return keys
    }
  }

  /// As many as there is room for, the most needed first; in the order of the help.
  private var keys: Strip {
    let all = [
      "\(glyphs.arrows) move", "p/r pause key", "P/R queue", "c cancel", "t try now", "f filter", "s sort",
      "? help", "q quit",
    ]
    var shown: [String] = []
    for text in [8, 7, 1, 3, 4, 5, 6, 0, 2].map({ all[$0] }) {
      let width = (shown + [text]).reduce(-2) { $0 + Printable.width($1) + 2 }
      if width <= columns { shown.append(text) }
    }
    return Strip(all.filter { shown.contains($0) }.joined(separator: "  "), .faint)
  }

  var help: [Strip] {
    let lines = [
      ("\(glyphs.arrows)  j k", "move"), ("PgUp PgDn", "a page, Home End the ends"),
      ("p r", "pause, resume the row's key"), ("P R", "pause, resume the queue"),
      ("c", "cancel the entry; asks first"), ("t", "try it now, or again"),
      ("f", "all, running, waiting, failed"), ("s", "running first, oldest, newest"),
      ("q ^C", "quit"),
    ]
    return lines.map { keys, meaning in
      var strip = Strip(glyphs.fit(keys, to: 10), isBold: true)
      strip.add(meaning)
      return strip
    }
  }
}
