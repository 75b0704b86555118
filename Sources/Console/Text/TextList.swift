import JSONText

extension JSONWriter {
  /// A member that is an array of strings.
  mutating func member(_ name: String, _ texts: [String]) {
    member(name) { list in list.array { for text in texts { $0.value(text) } } }
  }
}
