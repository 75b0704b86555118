/// The ids of a connection's requests that are not answered yet.
package struct InFlight: Sendable {
  private var ids: Set<RequestID> = []

  package init() {}

  package var count: Int { ids.count }

  package var all: Set<RequestID> { ids }

  package func contains(_ id: RequestID) -> Bool { ids.contains(id) }

  /// False when `id` is in flight already: the request is refused and the first one stays.
  package mutating func begin(_ id: RequestID) -> Bool { ids.insert(id).inserted }

  /// The request is answered; its id may come again.
  package mutating func end(_ id: RequestID) { ids.remove(id) }
}
