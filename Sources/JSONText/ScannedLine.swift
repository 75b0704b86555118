/// A text that follows the grammar of RFC 8259 and is UTF-8, with the first content in it that cannot be
/// kept.
package struct ScannedLine: Sendable {
  /// The one value of the text. Safe to read even when there is unfit content, so that an id can be answered.
  package let value: JSON

  /// The first unfit content, in the order of the text; nil when every part of `value` can be kept.
  package let unfit: Unfit?
}
