import JSONText
import OuttrayProtocol
import QueueModel

/// A conversation with the process that serves a queue, in which nothing is waited for. It attaches as a
/// visitor and hears no outcomes, so that neither the life of the process nor any host notices it.
final class Contact {
  /// Process id at the far end.
  let process: Int64
  private let live: LiveQueue
  /// Questions without an answer, by the number of their call, and when they were asked.
  private var asked: [Int64: (question: Question, at: Int64)] = [:]

  /// What has come.
  enum News {
    case state(JSON)
    case progress(id: String, sent: Int64)
    /// States were missed.
    case missed
    case holds(id: String, [Brief.Hold])
    case network(kind: String, isMetered: Bool)
    case done(String)
    case refused(String)
    case ended
  }

  /// Something may have come that the descriptor does not tell of.
  private(set) var hasMore = false

  private enum Question {
    case explain(id: String)
    case bytes(id: String)
    case stats
    case change(Method, done: String)

    var method: Method {
      switch self {
      case .explain: .explain
      case .bytes: .getRequests
      case .stats: .stats
      case .change(let method, _): method
      }
    }
  }

  /// nil when nobody serves the queue, or does not answer soon.
  init?(to directory: String, key: String?, _ around: Surroundings) {
    guard let live = around.live(in: directory, patience: Contact.patience) else { return nil }
    self.live = live
    do throws(Failure) {
      let greeting = try live.call(.initialize, patience: Contact.patience) {
        $0.member("protocolVersion", 1)
        $0.member("client") { client in
          client.object {
            $0.member("name", "outtray watch")
            $0.member("version", "1")
          }
        }
      }
      process = greeting["pid"]?.integer ?? 0
      try live.subscribe(to: [.state, .progress], key: key, patience: Contact.patience)
    } catch {
      return nil
    }
  }

  /// ms that keys may have to wait for somebody who does not answer.
  private static let patience: Int64 = 500

  /// Readable when there may be news.
  var descriptor: Int32 { live.descriptor }

  // MARK: Out

  /// Questions of looking are under way.
  var isAsking: Bool { asked.values.contains { if case .change = $0.question { false } else { true } } }

  /// ms since the oldest question that is not answered.
  func silence(at now: Int64) -> Int64 { asked.values.map(\.at).min().map { now - $0 } ?? 0 }

  func askExplanation(of id: String, at now: Int64) {
    ask(.explain(id: id), at: now) { $0.member("id", id) }
  }

  /// The bytes of the attempt in flight.
  func askBytes(of id: String, at now: Int64) {
    ask(.bytes(id: id), at: now) { $0.member("id", id) }
  }

  func askStats(at now: Int64) { ask(.stats, at: now) { _ in } }

  func change(
    _ method: Method, done: String, at now: Int64, _ params: (inout JSONWriter) -> Void
  ) {
    ask(.change(method, done: done), at: now, params)
  }

  /// One that cannot be sent any more is answered by the end, which comes as news.
  private func ask(_ question: Question, at now: Int64, _ params: (inout JSONWriter) -> Void) {
    guard let number = try? live.post(question.method.rawValue, params) else { return }
    asked[number] = (question, now)
  }

  // MARK: In

  /// All that has come by now.
  func news() -> [News] {
    var news: [News] = []
    hasMore = false
    while let event = live.next(within: 0) {
      switch event {
      case .ended:
        news += answers()
        return news + [.ended]
      case .told(let name, let params): news += Contact.news(name, params).map { [$0] } ?? []
      }
      // A queue in a hurry does not keep the screen from being drawn.
      if news.count >= Contact.most {
        hasMore = true
        break
      }
    }
    return answers() + news
  }

  private static let most = 2000

  private static func news(_ name: String, _ params: JSON) -> News? {
    switch EventName(rawValue: name) {
    case .state: .state(params)
    case .progress:
      if let id = params["id"]?.string, let sent = params["bytesSent"]?.integer {
        .progress(id: id, sent: sent)
      } else {
        nil
      }
    case .resync: .missed
    case .attempt, .settled, .group, .groupSettled, nil: nil
    }
  }

  private func answers() -> [News] {
    live.takeAnswers().sorted { $0.key < $1.key }.flatMap { number, answer -> [News] in
      asked.removeValue(forKey: number).map { Contact.answer($0.question, answer) } ?? []
    }
  }

  private static func answer(_ question: Question, _ answer: JSON) -> [News] {
    let result: JSON
    do throws(Failure) {
      result = try LiveQueue.result(of: answer, to: question.method.rawValue)
    } catch {
      // What is looked at may have gone meanwhile; only what a person asked for is told.
      if case .change = question { return [.refused(error.message)] }
      return []
    }
    switch question {
    case .explain(let id):
      let gates = Explanation(telling: result, isServed: true).gates
      return [.holds(id: id, gates.map { Brief.Hold(gate: $0.name, until: $0.until) })]
    case .bytes(let id): return Row.bytesSent(in: result).map { [.progress(id: id, sent: $0)] } ?? []
    case .stats:
      let network = result["network"]
      return network?["type"]?.string.map {
        [.network(kind: $0, isMetered: network?["metered"]?.bool ?? false)]
      } ?? []
    case .change(_, let done): return [.done(done)]
    }
  }
}
