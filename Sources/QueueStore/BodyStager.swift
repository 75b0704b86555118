import Glibc
import JSONText
package import QueueModel

/// Brings bodies into the store, apart from the database and on any thread. Until a row names the file,
/// nobody does: a crash leaves it to the rules for orphans.
package struct BodyStager: Sendable {
  private let folder: BodyFolder
  /// Called when a body was copied and is about to be checked; a test changes its source here.
  package var onCopied: @Sendable () -> Void = {}
  /// Called before a source is looked for; a test keeps it waiting here.
  package var onLooking: @Sendable () -> Void = {}

  package init(folder: BodyFolder) { self.folder = folder }

  /// How often a file that changes while it is read is read again.
  private static let tries = 3

  /// A body of at most 64 KiB as bytes, a larger one as a file: synced, and its name too (D27). Every source
  /// is found before the first byte is written (B136). A failure leaves nothing behind. By reference nothing
  /// is written: what the sources look like is all that is kept (D28).
  ///
  /// - Parameter onFound: Called when every source is found, before bytes are copied.
  package func stage(
    _ description: BodyDescription, staging: Descriptor.Staging, randomness: any Randomness,
    onFound: () throws(StageError) -> Void = {}
  ) throws(StageError) -> Staged {
    switch description {
    case .none: return Staged(body: .none, rowBytes: nil)
    case .data(let json):
      let bytes = Array(json.text)
      guard bytes.count > Staged.rowLimit else { return Staged(data: bytes) }
      let content = BodyContent(kind: .data, contentType: Staged.dataContentType, pieces: [.bytes(bytes)])
      return try write(content, sources: [], randomness)
    case .file, .form, .parts:
      return try retrying { () throws(StageError) in
        let (content, sources) = try find(description, isMoved: staging == .move, randomness)
        try onFound()
        switch staging {
        case .reference where !sources.isEmpty: return refer(content, sources)
        case .copy, .reference: return try write(content, sources: sources, randomness)
        case .move: return try move(content, sources: sources, randomness)
        }
      }
    }
  }

  /// What each source path of the body looks like now, in the order of the descriptor; nil where it names no
  /// regular file (D5).
  package func stamps(of description: BodyDescription) -> [SourceStamp?] {
    onLooking()
    return switch description {
    case .none, .data: []
    case .file(let path), .parts(let path, _): [SourceStamp(of: path)]
    case .form(let fields):
      fields.compactMap { field -> SourceStamp?? in
        switch field.content {
        case .string: nil
        case .path(let path, _): .some(SourceStamp(of: path))
        }
      }
    }
  }

  private func retrying(_ stage: () throws(StageError) -> Staged) throws(StageError) -> Staged {
    for _ in 1..<BodyStager.tries {
      do throws(StageError) {
        return try stage()
      } catch {
        guard case .changed = error else { throw error }
      }
    }
    return try stage()
  }

  /// What the body will consist of, and the files in it, in the order of the descriptor.
  private func find(
    _ description: BodyDescription, isMoved: Bool, _ randomness: any Randomness
  ) throws(StageError) -> (BodyContent, [SourceFile]) {
    switch description {
    case .none, .data: return (BodyContent(kind: description.kind, contentType: nil, pieces: []), [])
    case .file(let path):
      let source = try open(path, field: "request.file", isMoved: isMoved)
      return (BodyContent(kind: .file, contentType: nil, pieces: [.file(source)]), [source])
    case .parts(let path, let parts):
      let source = try open(path, field: "request.file", isMoved: isMoved)
      // Before the file is touched (A-FILE-09).
      if let misfit = parts.misfit(size: source.stamp.size) { throw .misfit(misfit) }
      return (BodyContent(kind: .parts, contentType: nil, pieces: [.file(source)]), [source])
    case .form(let fields):
      var sources: [Int: SourceFile] = [:]
      for (index, field) in fields.enumerated() {
        guard case .path(let path, _) = field.content else { continue }
        let source = try open(path, field: "request.form[\(index)].path", isMoved: isMoved)
        source.rest()
        sources[index] = source
      }
      let multipart = Multipart(fields, randomness: randomness)
      let pieces = multipart.pieces.compactMap { piece -> BodyContent.Piece? in
        switch piece {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let field): sources[field].map { .file($0) }
        }
      }
      let content = BodyContent(kind: .form, contentType: multipart.contentType, pieces: pieces)
      return (content, sources.sorted { $0.key < $1.key }.map(\.value))
    }
  }

  private func refer(_ content: BodyContent, _ sources: [SourceFile]) -> Staged {
    let body = StagedBody(
      kind: content.kind, length: content.length, place: .reference, contentType: content.contentType,
      sources: sources.map(\.stamp))
    return Staged(body: body, rowBytes: nil)
  }

  /// A file that is sent as it is becomes the store's own; what it cannot be, or a form, is copied.
  private func move(
    _ content: BodyContent, sources: [SourceFile], _ randomness: any Randomness
  ) throws(StageError) -> Staged {
    if content.kind != .form, let source = sources.first, source.stamp.size > Staged.rowLimit,
      let staged = try link(source, content.kind, randomness)
    {
      return staged
    }
    return try write(content, sources: sources, randomness).moving(sources)
  }

  /// Takes the file itself; nil where it can have no second name. The caller's own name stays until the row
  /// that owns the file is committed (D28).
  private func link(
    _ source: SourceFile, _ kind: BodyKind, _ randomness: any Randomness
  ) throws(StageError) -> Staged? {
    let name = BodyName.ofMove(randomness)
    let file = try source.descriptor
    guard try folder.link(file, as: name) else { return nil }
    do throws(StageError) {
      if let number = SystemError.of({ fsync(file) }) { throw .storage(number) }
      try folder.sync()
    } catch {
      folder.discard(name)
      throw error
    }
    let body = StagedBody(
      kind: kind, length: source.stamp.size, place: .file(name: name), sources: [source.stamp])
    var staged = Staged(body: body, rowBytes: nil)
    staged.moved = [MovedSource(path: source.path, link: name, identity: source.identity)]
    return staged
  }

  private func write(
    _ content: BodyContent, sources: [SourceFile], _ randomness: any Randomness
  ) throws(StageError) -> Staged {
    let length = content.length
    var body = StagedBody(
      kind: content.kind, length: length, place: .row, contentType: content.contentType,
      sources: sources.map(\.stamp))
    if length <= Staged.rowLimit {
      let bytes = try content.bytes()
      try check(sources)
      return Staged(body: body, rowBytes: bytes)
    }
    let name = BodyName.ofCopy(randomness)
    try write(content, to: name, sources)
    body.place = .file(name: name)
    return Staged(body: body, rowBytes: nil)
  }

  /// Nothing may remain of a body that cannot be had whole, such as when the disk fills.
  private func write(
    _ content: BodyContent, to name: String, _ sources: [SourceFile]
  ) throws(StageError) {
    let file = try folder.make(name)
    defer { close(file) }
    do throws(StageError) {
      try content.write(to: file)
      try check(sources)
      if let number = SystemError.of({ fsync(file) }) { throw .storage(number) }
      try folder.sync()
    } catch {
      folder.discard(name)
      throw error
    }
  }

  private func open(_ path: FilePath, field: String, isMoved: Bool) throws(StageError) -> SourceFile {
    onLooking()
    return try SourceFile(path, field: field, outside: folder.queueDirectory, followsLinks: !isMoved)
  }

  private func check(_ sources: [SourceFile]) throws(StageError) {
    onCopied()
    for source in sources where !source.isUnchanged { throw .changed(field: source.field) }
  }
}

extension Staged {
  /// The same body, whose sources were copied and are to go.
  fileprivate func moving(_ sources: [SourceFile]) -> Staged {
    var staged = self
    staged.moved = sources.map { MovedSource(path: $0.path, link: nil, identity: $0.identity) }
    return staged
  }
}
