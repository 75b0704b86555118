import JSONText
import OuttrayProtocol
import QueueModel
import Testing

@Suite("The members of nested objects are those of the document")
struct NestedMembersTests {
  enum Place: String, CaseIterable, Sendable {
    case configure, descriptor, formField, acceptRule, retry, backoff, terminalHttp, transientRule
    case timeouts, timeoutLayer, concurrency, tls, tlsHost

    var members: Members {
      switch self {
      case .configure: .params(of: .configure)
      case .descriptor: .descriptor
      case .formField: .formField
      case .acceptRule: .acceptRule
      case .retry: .retry
      case .backoff: .backoff
      case .terminalHttp: .terminalHttp
      case .transientRule: .transientRule
      case .timeouts: .timeouts
      case .timeoutLayer: .timeoutLayer
      case .concurrency: .concurrency
      case .tls: .tls
      case .tlsHost: .tlsHost
      }
    }

    /// Text with `object` where this kind of object stands.
    func text(around object: String) -> String {
      switch self {
      case .configure: object
      case .descriptor: object
      case .formField: #"{"url":"http://h/","form":[\#(object)]}"#
      case .acceptRule: #"{"url":"http://h/","accept":[\#(object)]}"#
      case .retry: #"{"url":"http://h/","retry":\#(object)}"#
      case .backoff: #"{"url":"http://h/","retry":{"backoff":\#(object)}}"#
      case .terminalHttp: #"{"url":"http://h/","retry":{"terminalHttp":\#(object)}}"#
      case .transientRule: #"{"url":"http://h/","retry":{"transient":[\#(object)]}}"#
      case .timeoutLayer: #"{"url":"http://h/","timeouts":\#(object)}"#
      case .timeouts: #"{"timeouts":\#(object)}"#
      case .concurrency: #"{"concurrency":\#(object)}"#
      case .tls: #"{"tls":\#(object)}"#
      case .tlsHost: #"{"tls":{"hosts":{"h":\#(object)}}}"#
      }
    }

    /// What is said of an object that has one member; nil when nothing is wrong with it.
    func complaint(about name: String) throws -> String? {
      // An array fits no member, so that only what is said of it differs.
      let json = try JSON(checking: Array(text(around: #"{"\#(name)":[[]]}"#).utf8))
      do throws(InvalidInput) {
        switch self {
        case .configure, .timeouts, .concurrency, .tls, .tlsHost: _ = try ConfigurationChange(reading: json)
        default: _ = try Descriptor(reading: json)
        }
        return nil
      } catch {
        return error.message
      }
    }
  }

  static let everyName = Set(
    Place.allCases.flatMap { $0.members.served + $0.members.later } + ["zzz", "range", "start", "end"])

  @Test("A documented member is known, any other is not", arguments: Place.allCases)
  func members(_ place: Place) throws {
    let documented = Set(place.members.served + place.members.later)
    for name in Self.everyName {
      let isKnown = try place.complaint(about: name)?.contains("is no member here") != true
      #expect(isKnown == documented.contains(name), "\(place).\(name)")
    }
  }
}
