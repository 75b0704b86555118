/// Why a text is not JSON that can be kept: `offset` is the byte where it shows, counted from 0.
///
/// Scanning throws it for text outside RFC 8259 and for bad UTF-8; `JSON.init(checking:)` throws it for unfit
/// content as well, and then `path` names the place.
package struct JSONDefect: Error, Sendable, Equatable {
  /// The byte where the defect shows, from 0; the length of the text when it ends too early.
  package let offset: Int

  /// What is right in its place, for people. Never holds a byte of the text.
  package let reason: String

  /// The place of unfit content, such as `params.vars[3].a`; nil when the text is not JSON at all.
  package let path: String?

  package init(offset: Int, reason: String, path: String? = nil) {
    self.offset = offset
    self.reason = reason
    self.path = path
  }
}
