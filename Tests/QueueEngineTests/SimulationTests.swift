import Testing

@Suite struct SimulationTests {
  private static let histories = 150

  @Test("D1, D3, D4, D8, D25, D26, D35, A-PROG-03: random hosts, answers, clocks and restarts break no rule")
  func histories() throws {
    for seed in 1...UInt64(SimulationTests.histories) {
      var simulation = try Simulation(seed: seed)
      do {
        try simulation.run(steps: 60)
      } catch let broken as Simulation.Broken {
        Issue.record("seed \(seed): \(broken.rule)\n\(simulation.log.suffix(40).joined(separator: "\n"))")
        return
      }
    }
  }
}
