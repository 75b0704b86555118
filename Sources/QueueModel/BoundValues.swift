package import JSONText

/// Why an entry cannot have a value that its request needs: it settles with `dependency`. Says what was
/// missing and where, and nothing of the value (D38).
package struct BindingFailure: Error, Sendable, Equatable {
  package var message: String

  package init(message: String) { self.message = message }

  init(_ binding: Binding, _ message: String) {
    self.message = "bind.\(binding.name) of \(binding.entry): \(message)"
  }

  /// How the entry ends.
  package var settlement: Outcome.Settlement { .error(kind: .dependency, message: message, response: nil) }
}

/// The answer of a completed entry, to take values from.
package struct AnswerSource {
  private let response: ResponseRecord
  private let body: Body

  private enum Body {
    case json(JSON)
    case unusable(String)
  }

  /// nil for an outcome that is no completion.
  package init?(_ settlement: Outcome.Settlement) {
    guard case .completed(let response) = settlement else { return nil }
    self.response = response
    body = AnswerSource.read(response)
  }

  private static func read(_ response: ResponseRecord) -> Body {
    if response.bodyTruncated { return .unusable("the answer's body was cut") }
    switch response.body {
    case nil: return .unusable("the answer had no body")
    case .bytes: return .unusable("the answer's body is not JSON")
    case .text(let text):
      guard let scanned = try? JSON.scan(Array(text.utf8)) else {
        return .unusable("the answer's body is not JSON")
      }
      return .json(scanned.value)
    }
  }

  package func result(of binding: Binding) -> Result<JSON, BindingFailure> {
    do throws(BindingFailure) { return .success(try value(of: binding)) } catch { return .failure(error) }
  }

  /// The value that the binding names, exactly as it stood; of a header, its text as a JSON string.
  package func value(of binding: Binding) throws(BindingFailure) -> JSON {
    switch binding.source {
    case .header(let name):
      guard let field = response.headers.first(where: { HeaderFields.sameName($0.name, name) }) else {
        throw BindingFailure(binding, "the answer had no header \(name)")
      }
      return JSON(writing: { $0.value(field.value) })
    case .pointer(let pointer):
      switch body {
      case .unusable(let message): throw BindingFailure(binding, message)
      case .json(let json):
        guard let found = pointer.value(in: json) else {
          throw BindingFailure(binding, "nothing stands at \(pointer.text) of the answer")
        }
        // What is wrong elsewhere in the answer does not matter.
        do throws(JSONDefect) { return try JSON(checking: Array(found.text)) } catch {
          throw BindingFailure(binding, "what stands at \(pointer.text) of the answer cannot be kept")
        }
      }
    }
  }
}

extension Outcome {
  /// What of it those that come after the entry need.
  package var forSuccessors: Outcome {
    var outcome = self
    outcome.vars = .null
    if case .error(let kind, let message, _) = settlement {
      outcome.settlement = .error(kind: kind, message: message, response: nil)
    }
    return outcome
  }
}

/// A binding, and its value once it was taken.
package struct TakenBinding: Sendable {
  package var binding: Binding
  package var value: JSON?

  package init(_ binding: Binding, value: JSON?) {
    self.binding = binding
    self.value = value
  }
}

/// The values of an entry's bindings, as far as they were taken.
package struct BoundValues: Sendable {
  private var values: [String: JSON] = [:]
  private var bindings: [String: Binding] = [:]

  package init(_ taken: [TakenBinding]) {
    for taken in taken {
      guard let value = taken.value else { continue }
      values[taken.binding.name] = value
      bindings[taken.binding.name] = taken.binding
    }
  }

  /// As JSON, for `data`.
  func json(_ name: String) throws(BindingFailure) -> JSON {
    guard let value = values[name] else { throw BindingFailure(message: "bind.\(name): has no value") }
    return value
  }

  /// As text, for a URL or a header: a string, a number as it was spelt, true or false.
  func text(_ name: String) throws(BindingFailure) -> String {
    let value = try json(name)
    switch value.kind {
    case .string: if let text = value.string { return text }
    case .number, .true, .false: return value.description
    case .null, .object, .array: break
    }
    throw failure(name, "must be a string, a number, true or false to stand in a URL or a header")
  }

  func failure(_ name: String, _ message: String) -> BindingFailure {
    bindings[name].map { BindingFailure($0, message) } ?? BindingFailure(message: "bind.\(name): \(message)")
  }
}
