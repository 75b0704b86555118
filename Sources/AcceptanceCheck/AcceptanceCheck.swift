import Glibc

/// Shows that outtray works on this machine: uploads samples in stages to a receiver on loopback, or to a
/// given server, and compares what arrived. It is a host like any other and knows the sidecar by its wire
/// alone.
package struct AcceptanceCheck {
  /// A server that takes POST and PUT; nil runs a receiver on loopback.
  package var url: String?
  /// Where the temporary folder is made.
  package var parent: String
  /// Leaves the temporary folder in place.
  package var keeps = false
  /// JSON lines in place of the table.
  package var writesJSON = false
  /// The outtray to check.
  package var program = "/proc/self/exe"

  package enum Ending: Equatable {
    case holds
    /// The evidence says why.
    case fails
    /// The directory cannot be used.
    case unusable(String)
    /// The check itself could not be made.
    case impossible(String)
    /// Asked to end by this signal; everything is cleaned up.
    case interrupted(Int32)
  }

  /// All stages together take no longer, ms.
  private static let bound: Int64 = 120_000
  private static let boundForGiven: Int64 = 300_000

  private static let stages: [any (Stage & Sendable).Type] = [
    PlainStage.self, FormStage.self, PartsStage.self, ServerErrorStage.self, ConnectionCutStage.self,
    SidecarKilledStage.self, HostGoneStage.self,
  ]

  package init(parent: String) { self.parent = parent }

  /// Runs all stages, telling each as it ends. `write` takes a line.
  package func run(version: String, _ write: @escaping (String) -> Void) -> Ending {
    let folder: TemporaryFolder
    do throws(TemporaryFolder.Unusable) {
      folder = try TemporaryFolder(in: parent)
    } catch {
      return .unusable(error.message)
    }
    let ending = run(version, in: folder, write)
    guard !keeps else { return ending }
    return folder.remove() ? ending : .impossible("\(folder.path) could not be removed")
  }

  private func run(_ version: String, in folder: TemporaryFolder, _ write: @escaping (String) -> Void)
    -> Ending
  {
    do throws(Setback) {
      let watch = Watch(within: url == nil ? AcceptanceCheck.bound : AcceptanceCheck.boundForGiven)
      let interrupts = try Interrupts(on: watch)
      defer { withExtendedLifetime(interrupts) {} }
      let server: Bench.Server = if let url { .given(url) } else { .receiver(try Receiver(on: watch)) }
      var report = Report(writesJSON ? .json : .table, write)
      report.begin(version: version, server: server.name, folder: folder.path)
      for stage in AcceptanceCheck.stages {
        report.add(try run(stage, server, in: folder, watch))
      }
      report.end(version: version, server: server.name, remarks: remarks(folder))
      return report.holds ? .holds : .fails
    } catch {
      switch error {
      case .unmet(let reason): return .impossible(reason)
      case .interrupted(let signal): return .interrupted(signal)
      }
    }
  }

  private func run(
    _ stage: any Stage.Type, _ server: Bench.Server, in folder: TemporaryFolder, _ watch: Watch
  ) throws(Setback) -> Evidence {
    var evidence = Evidence(stage: stage.name)
    guard url == nil || stage.fitsGivenServer else {
      evidence.verdict = .notRun
      return evidence
    }
    if case .receiver(let receiver) = server { receiver.reset() }
    let place = try folder.makeFolder(stage.name.map { $0 == " " ? "-" : String($0) }.joined())
    let bench = Bench(stage.name, server: server, program: program, folder: place, watch: watch)
    let begin = Watch.now()
    var verdict = Evidence.Verdict.ok
    do throws(Setback) {
      try stage.run(bench)
    } catch {
      guard case .unmet(let reason) = error else { throw error }
      verdict = .failed(reason)
    }
    return bench.conclude(verdict, milliseconds: Watch.now() - begin)
  }

  /// What the evidence does not show.
  private func remarks(_ folder: TemporaryFolder) -> [String] {
    var remarks: [String] = []
    if url == nil {
      remarks.append("not shown by this, which ran over loopback: your network, TLS, a power cut")
    } else {
      remarks.append("bytes are body bytes that were sent, the framing of the form included")
      remarks.append(
        "SHA-256 equal is - where the answer of the given server does not hold the file's SHA-256 in hex: "
          + "what it stored is not known here")
    }
    if keeps { remarks.append("kept: \(folder.path)") }
    return remarks
  }
}

extension Bench.Server {
  /// Without the query, which may hold a secret.
  fileprivate var name: String {
    switch self {
    case .receiver(let receiver): "a receiver on 127.0.0.1:\(receiver.port)"
    case .given(let url): String(url.prefix { $0 != "?" && $0 != "#" })
    }
  }
}
