/// The rows that are looked at, and the one of them that keys are about. Knows entries by their creation
/// numbers; a row that goes away gives its place to the next.
struct Viewport: Sendable {
  private(set) var places: [Place] = []
  /// Position among `places`.
  private(set) var selected = 0
  /// Where the rows begin; nil stays at the beginning of the list, whatever comes to stand there.
  private var top: Place?

  /// Where an entry stands in a list of one or more sections.
  struct Place: Equatable, Sendable {
    var section = 0
    var number: Int64
  }

  var isAtBeginning: Bool { top == nil }

  var selectedNumber: Int64? { places.indices.contains(selected) ? places[selected].number : nil }

  /// Another list, from its beginning.
  mutating func reset() { self = Viewport() }

  // MARK: Reading

  /// Reads the rows again, of which there is room for `room`.
  mutating func refresh(_ list: Listing, room: Int) throws(Failure) {
    let kept = selectedNumber
    // A window that became lower keeps the row that keys are about.
    if selected >= room, places.indices.contains(selected), room > 0 { top = places[selected - room + 1] }
    places = try list.forward(from: top, limit: room)
    if let top, places.count < room {
      let missing = room - places.count
      let before = try list.backward(before: places.first ?? top, limit: missing)
      places = before + places
      self.top = before.count < missing ? nil : places.first
    }
    let position = kept.flatMap { kept in places.firstIndex { $0.number == kept } }
    selected = position ?? max(0, min(selected, places.count - 1))
  }

  // MARK: Keys

  mutating func move(by rows: Int, _ list: Listing, room: Int) throws(Failure) {
    let target = selected + rows
    if target >= places.count {
      try show(list.forward(behind: places.last, limit: target - places.count + 1), room: room)
      selected = max(0, places.count - 1)
    } else if target < 0 {
      try show(before: list.backward(before: places.first, limit: -target), of: -target, room: room)
      selected = 0
    } else {
      selected = target
    }
  }

  /// - Parameter direction: 1 or -1.
  mutating func page(_ direction: Int, _ list: Listing, room: Int) throws(Failure) {
    let step = max(1, room - 1)
    if direction > 0 {
      let behind = try list.forward(behind: places.last, limit: step)
      show(behind, room: room)
      if behind.isEmpty { selected = max(0, places.count - 1) }
    } else {
      let before = try list.backward(before: places.first, limit: step)
      show(before: before, of: step, room: room)
      if before.isEmpty { selected = 0 }
    }
  }

  mutating func goToBeginning(_ list: Listing, room: Int) throws(Failure) {
    reset()
    try refresh(list, room: room)
  }

  mutating func goToEnd(_ list: Listing, room: Int) throws(Failure) {
    places = try list.backward(before: nil, limit: room)
    top = places.count < room ? nil : places.first
    selected = max(0, places.count - 1)
  }

  private mutating func show(_ behind: [Place], room: Int) {
    let all = places + behind
    places = Array(all.suffix(room))
    if places.count < all.count { top = places.first }
  }

  private mutating func show(before: [Place], of wanted: Int, room: Int) {
    places = Array((before + places).prefix(room))
    top = before.count < wanted ? nil : places.first
  }
}

/// The order in which entries are shown: sections one behind the other, each upwards or downwards by creation
/// number.
struct Listing {
  /// One word a section: whether its numbers rise.
  let sections: [Bool]
  /// At most `limit` numbers of a section from `number` (inclusive) on, rising or falling.
  let numbers: (_ section: Int, _ number: Int64, _ isUpwards: Bool, _ limit: Int) throws(Failure) -> [Int64]

  typealias Place = Viewport.Place

  /// - Parameter place: Inclusive; nil from the beginning.
  func forward(from place: Place?, limit: Int) throws(Failure) -> [Place] {
    var found: [Place] = []
    for section in (place?.section ?? 0)..<sections.count where found.count < limit {
      let isUpwards = sections[section]
      let start = place.flatMap { $0.section == section ? $0.number : nil } ?? (isUpwards ? 0 : .max)
      found += try numbers(section, start, isUpwards, limit - found.count).map {
        Place(section: section, number: $0)
      }
    }
    return found
  }

  /// - Parameter place: Exclusive; nil from the beginning.
  func forward(behind place: Place?, limit: Int) throws(Failure) -> [Place] {
    guard let place else { return try forward(from: nil, limit: limit) }
    return try forward(from: Listing.moved(place, by: sections[place.section] ? 1 : -1), limit: limit)
  }

  /// In the order of the list.
  ///
  /// - Parameter place: Exclusive; nil from the end.
  func backward(before place: Place?, limit: Int) throws(Failure) -> [Place] {
    var found: [Place] = []
    for section in (0...(place?.section ?? sections.count - 1)).reversed() where found.count < limit {
      let isUpwards = !sections[section]
      let edge = isUpwards ? 0 : Int64.max
      let start =
        place.flatMap { $0.section == section ? Listing.moved($0, by: isUpwards ? 1 : -1).number : nil }
        ?? edge
      found += try numbers(section, start, isUpwards, limit - found.count).map {
        Place(section: section, number: $0)
      }
    }
    return found.reversed()
  }

  private static func moved(_ place: Place, by step: Int64) -> Place {
    Place(section: place.section, number: place.number + step)
  }
}
