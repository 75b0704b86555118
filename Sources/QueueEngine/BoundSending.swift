import QueueModel
import QueueStore

/// Requests that hold values from the answers of others (D46).
extension Turn {
  /// What the request of the entry has become; nil for one without bindings.
  func expansion(
    of entry: Entry, _ writer: Writer
  ) throws(StoreError) -> Result<Entry.Expansion?, BindingFailure> {
    guard let values = try values(of: entry, writer) else { return .success(nil) }
    let template = BodyTemplate(
      data: try writer.storedData(of: entry), parts: try writer.storedParts(of: entry) ?? [])
    do throws(BindingFailure) {
      return .success(try entry.expansion(of: template, with: values))
    } catch {
      return .failure(error)
    }
  }

  /// nil for an entry without bindings.
  private func values(of entry: Entry, _ writer: Writer) throws(StoreError) -> BoundValues? {
    let taken = try writer.bindings(of: entry.number)
    guard !taken.isEmpty else { return nil }
    return BoundValues(taken)
  }

  /// The entry and its body as they are sent.
  func expanded(
    _ entry: Entry, _ writer: Writer
  ) throws(StoreError) -> Result<(entry: Entry, body: OutgoingBody), BindingFailure> {
    guard entry.expansion != nil, let values = try values(of: entry, writer) else {
      return .success((entry, try writer.outgoing(entry)))
    }
    let data = try writer.storedData(of: entry)
    let sent: Entry
    var bytes: [UInt8]?
    do throws(BindingFailure) {
      sent = try entry.sending(values)
      if let data { bytes = try Descriptor.expanded(data, with: values) }
    } catch {
      return .failure(error)
    }
    if let bytes { return .success((sent, .bytes(bytes))) }
    return .success((sent, try writer.outgoing(entry)))
  }

  /// The request of one part as it is sent; nil when there is none, or it cannot be read.
  func partRequest(
    of entry: Entry, at index: Int, _ writer: Writer
  ) throws(StoreError) -> Result<PartRequest?, BindingFailure> {
    guard let part = try writer.partRequest(of: entry, at: index) else { return .success(nil) }
    guard entry.expansion != nil, let values = try values(of: entry, writer) else { return .success(part) }
    do throws(BindingFailure) { return .success(try part.expanded(with: values)) } catch {
      return .failure(error)
    }
  }
}
