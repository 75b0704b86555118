import Testing

@testable import QueueModel

@Suite("Chunk plans")
struct ChunkPlanTests {
  @Test("B99, B100, B107: every size up to ten full ranges, contiguous, covering, no short part in several")
  func sweep() throws {
    for size in 1...Int64(200) {
      let plan = try ChunkPlan.ranges(size: size, min: 8, max: 20)
      #expect(try ChunkPlan.ranges(size: size, min: 8, max: 20) == plan)
      #expect(plan.first?.lowerBound == 0)
      #expect(plan.last?.upperBound == size)
      #expect(zip(plan, plan.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
      #expect(plan.dropLast().allSatisfy { $0.count == 20 })
      if plan.count > 1 { #expect(plan.allSatisfy { (8...27).contains($0.count) }) }
    }
  }

  @Test(
    "B101 to B104, D9: exact multiples, absorbed tails, single ranges",
    arguments: [
      (0, [0..<0]), (1, [0..<1]), (7, [0..<7]), (19, [0..<19]), (20, [0..<20]), (40, [0..<20, 20..<40]),
      (27, [0..<27]), (47, [0..<20, 20..<47]), (28, [0..<20, 20..<28]), (48, [0..<20, 20..<40, 40..<48]),
    ] as [(Int64, [Range<Int64>])])
  func plans(size: Int64, plan: [Range<Int64>]) throws {
    #expect(try ChunkPlan.ranges(size: size, min: 8, max: 20) == plan)
  }

  @Test("B100: 8 MiB and 20 MiB by default")
  func defaults() throws {
    let plan = try ChunkPlan.ranges(size: 50 << 20)
    #expect(plan.map(\.count) == [20 << 20, 20 << 20, 10 << 20])
    #expect(try ChunkPlan.ranges(size: 27 << 20).count == 1)
  }

  @Test(
    "B105, B106: what cannot be a plan is refused",
    arguments: [(-1, 8, 20, "size"), (10, 0, 20, "min"), (10, 8, 7, "max"), (.max, 1, 1, "max")]
      as [(Int64, Int64, Int64, String)])
  func refused(size: Int64, least: Int64, most: Int64, path: String) throws {
    #expect(try refusedPath { _ = try ChunkPlan.ranges(size: size, min: least, max: most) } == path)
  }

  @Test("protocol 2: at most 100,000 ranges")
  func count() throws {
    #expect(try ChunkPlan.ranges(size: 100_000, min: 1, max: 1).count == 100_000)
    #expect(try refusedPath { _ = try ChunkPlan.ranges(size: 100_001, min: 1, max: 1) } == "max")
    #expect(try ChunkPlan.ranges(size: 200_001, min: 2, max: 2).count == 100_000)
  }
}
