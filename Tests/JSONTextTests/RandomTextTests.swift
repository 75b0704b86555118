import JSONText
import Testing

@Suite struct RandomTextTests {
  @Test("Random values survive every spelling, and what is written is equivalent to what was read")
  func roundTrip() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(state: seed)
    for round in 0..<300 {
      let tree = Tree.random(5, &random)
      let comment: Comment = "seed \(seed), round \(round)"
      let value = try json(tree.spelled(&random))
      #expect(Tree(value) == tree, comment)

      var typed = JSONWriter()
      try tree.write(&typed)
      let written = try JSON(checking: typed.bytes)
      #expect(written.isEquivalent(to: value), comment)

      var framed = JSONWriter()
      framed.raw(value)
      #expect(!framed.bytes.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0x7F }, comment)
      #expect(try JSON(checking: framed.bytes).isEquivalent(to: value), comment)
    }
  }

  @Test("Random damage is either refused or still read to its end without a crash")
  func damage() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = SeededGenerator(state: seed)
    let marks = Array("{}[]\",:\\u0e-. \u{E9}tfn".utf8)
    for round in 0..<3000 {
      var bytes = Array(Tree.random(4, &random).spelled(&random).utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes.insert(marks.randomElement(using: &random) ?? 0, at: place)
        case 1: if place < bytes.count { bytes.remove(at: place) }
        default: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
        }
      }
      guard let scanned = try? JSON.scan(bytes) else { continue }
      var writer = JSONWriter()
      writer.raw(scanned.value)
      #expect(Tree(try JSON.scan(writer.bytes).value) == Tree(scanned.value), "seed \(seed), round \(round)")
    }
  }
}
