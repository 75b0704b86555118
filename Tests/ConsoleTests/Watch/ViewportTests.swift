import Testing

@testable import Console

@Suite("The rows that are looked at")
struct ViewportTests {
  /// Sections of numbers as the database would give them; counts what is read.
  private final class Numbers {
    var sections: [[Int64]]
    var most = 0

    init(_ sections: [[Int64]]) { self.sections = sections }

    func listing(_ directions: [Bool]) -> Listing {
      Listing(sections: directions) { section, number, isUpwards, limit in
        let all = self.sections[section].sorted(by: { isUpwards ? $0 < $1 : $0 > $1 })
        let found = Array(all.filter { isUpwards ? $0 >= number : $0 <= number }.prefix(limit))
        self.most = max(self.most, found.count)
        return found
      }
    }
  }

  private func numbers(_ view: Viewport) -> [Int64] { view.places.map(\.number) }

  @Test("moving scrolls at the edges, and stops at the ends")
  func move() throws {
    let list = Numbers([Array(1...10)]).listing([true])
    var view = Viewport()
    try view.refresh(list, room: 4)
    #expect(numbers(view) == [1, 2, 3, 4] && view.isAtBeginning && view.selectedNumber == 1)
    for _ in 0..<5 { try view.move(by: 1, list, room: 4) }
    #expect(numbers(view) == [3, 4, 5, 6] && view.selectedNumber == 6 && !view.isAtBeginning)
    for _ in 0..<9 { try view.move(by: 1, list, room: 4) }
    #expect(numbers(view) == [7, 8, 9, 10] && view.selectedNumber == 10)
    for _ in 0..<20 { try view.move(by: -1, list, room: 4) }
    #expect(numbers(view) == [1, 2, 3, 4] && view.selectedNumber == 1 && view.isAtBeginning)
  }

  @Test("pages, the end and the beginning")
  func pages() throws {
    let list = Numbers([Array(1...10)]).listing([true])
    var view = Viewport()
    try view.refresh(list, room: 4)
    try view.page(1, list, room: 4)
    #expect(numbers(view) == [4, 5, 6, 7] && view.selectedNumber == 4)
    try view.goToEnd(list, room: 4)
    #expect(numbers(view) == [7, 8, 9, 10] && view.selectedNumber == 10)
    try view.page(1, list, room: 4)
    #expect(numbers(view) == [7, 8, 9, 10])
    try view.page(-1, list, room: 4)
    #expect(numbers(view) == [4, 5, 6, 7] && view.selectedNumber == 7)
    try view.page(-1, list, room: 4)
    try view.page(-1, list, room: 4)
    #expect(numbers(view) == [1, 2, 3, 4] && view.isAtBeginning && view.selectedNumber == 1)
    try view.goToEnd(list, room: 20)
    #expect(numbers(view) == Array(1...10) && view.isAtBeginning)
    try view.goToBeginning(list, room: 4)
    #expect(numbers(view) == [1, 2, 3, 4] && view.selectedNumber == 1)
  }

  @Test("a downward list, and sections one behind the other")
  func sections() throws {
    let down = Numbers([Array(1...10)]).listing([false])
    var view = Viewport()
    try view.refresh(down, room: 3)
    #expect(numbers(view) == [10, 9, 8])
    try view.page(1, down, room: 3)
    #expect(numbers(view) == [8, 7, 6])
    try view.page(-1, down, room: 3)
    #expect(numbers(view) == [10, 9, 8])

    let list = Numbers([[7, 9], [1, 2, 3, 8]]).listing([true, true])
    view = Viewport()
    try view.refresh(list, room: 3)
    #expect(numbers(view) == [7, 9, 1])
    try view.move(by: 5, list, room: 3)
    #expect(numbers(view) == [2, 3, 8])
    try view.move(by: -4, list, room: 3)
    #expect(numbers(view) == [9, 1, 2] && view.selectedNumber == 9)
    try view.goToEnd(list, room: 3)
    #expect(numbers(view) == [2, 3, 8])
  }

  @Test("the selection stays with its entry, and goes to the next when that has gone")
  func selection() throws {
    let source = Numbers([Array(1...6)])
    let list = source.listing([true])
    var view = Viewport()
    try view.refresh(list, room: 5)
    try view.move(by: 2, list, room: 5)
    source.sections = [[2, 3, 4, 5, 6]]
    try view.refresh(list, room: 5)
    #expect(view.selectedNumber == 3)
    source.sections = [[2, 4, 5, 6]]
    try view.refresh(list, room: 5)
    #expect(view.selectedNumber == 4)
    source.sections = [[]]
    try view.refresh(list, room: 5)
    #expect(view.selectedNumber == nil && view.selected == 0)
    for rows in [1, -1] { try view.move(by: rows, list, room: 5) }
    try view.page(1, list, room: 5)
    try view.goToEnd(list, room: 5)
    #expect(view.selectedNumber == nil && view.selected == 0)
  }

  @Test("what comes to stand at the beginning is seen there, and elsewhere moves nothing")
  func beginning() throws {
    let source = Numbers([[5, 6, 7, 8, 9]])
    let list = source.listing([true])
    var view = Viewport()
    try view.refresh(list, room: 2)
    source.sections[0] += [4]
    try view.refresh(list, room: 2)
    #expect(numbers(view) == [4, 5])
    try view.page(1, list, room: 2)
    let looked = numbers(view)
    source.sections[0] += [3]
    try view.refresh(list, room: 2)
    #expect(numbers(view) == looked)
  }

  @Test("where the end has gone the rows before it fill the window")
  func fills() throws {
    let source = Numbers([Array(1...20)])
    let list = source.listing([true])
    var view = Viewport()
    try view.refresh(list, room: 5)
    try view.goToEnd(list, room: 5)
    source.sections = [Array(1...7)]
    try view.refresh(list, room: 5)
    #expect(numbers(view) == [3, 4, 5, 6, 7])
    source.sections = [Array(1...3)]
    try view.refresh(list, room: 5)
    #expect(numbers(view) == [1, 2, 3] && view.isAtBeginning)
  }

  @Test("a window that becomes lower keeps the selected row, one that becomes higher shows more")
  func resize() throws {
    let list = Numbers([Array(1...20)]).listing([true])
    var view = Viewport()
    try view.refresh(list, room: 10)
    try view.move(by: 8, list, room: 10)
    try view.refresh(list, room: 3)
    #expect(numbers(view) == [7, 8, 9] && view.selectedNumber == 9)
    try view.refresh(list, room: 6)
    #expect(numbers(view) == [7, 8, 9, 10, 11, 12] && view.selectedNumber == 9)
    try view.refresh(list, room: 0)
    #expect(view.places.isEmpty)
    try view.refresh(list, room: 2)
    #expect(view.places.count == 2)
  }

  @Test("no reading asks for more than a window, however many entries there are")
  func bounded() throws {
    let source = Numbers([Array(1...5000)])
    let list = source.listing([true])
    var view = Viewport()
    try view.refresh(list, room: 40)
    try view.goToEnd(list, room: 40)
    for _ in 0..<50 { try view.page(-1, list, room: 40) }
    #expect(source.most <= 40)
  }
}
