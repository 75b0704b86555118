import Glibc
import JSONText
package import QueueModel

/// Brings bodies into the store, apart from the database and on any thread. Until a row names the file,
/// nobody does: a crash leaves it to the rules for orphans.
package struct BodyStager: Sendable {
  private let folder: BodyFolder
  /// Called when a body was copied and is about to be checked; a test changes its source here.
  var onCopied: @Sendable () -> Void = {}

  package init(folder: BodyFolder) { self.folder = folder }

  /// How often a file that changes while it is read is read again.
  private static let tries = 3

  /// A body of at most 64 KiB as bytes, a larger one as a file: synced, and its name too (D27). Every source
  /// is found and opened before the first byte is written (B136). A failure leaves nothing behind.
  package func stage(
    _ description: BodyDescription, staging: Descriptor.Staging, randomness: any Randomness
  ) throws(StageError) -> Staged {
    let isMoved: Bool
    switch staging {
    case .copy: isMoved = false
    case .move: isMoved = true
    case .reference: throw .storage(message: "staging reference is not served by this version")
    }
    switch description {
    case .none: return Staged(body: .none, rowBytes: nil)
    case .data(let json):
      let bytes = Array(json.text)
      guard bytes.count > Staged.rowLimit else { return Staged(data: bytes) }
      let content = BodyContent(kind: .data, contentType: Staged.dataContentType, pieces: [.bytes(bytes)])
      return try stage(content, sources: [], randomness)
    case .file(let path):
      return try retrying { () throws(StageError) in
        let source = try open(path, field: "request.file", isMoved: isMoved)
        return try stage(.file, source, isMoved: isMoved, randomness)
      }
    case .parts(let path, let parts):
      return try retrying { () throws(StageError) in
        let source = try open(path, field: "request.file", isMoved: isMoved)
        // Before the file is touched (A-FILE-09).
        if let misfit = parts.misfit(size: source.stamp.size) { throw .misfit(misfit) }
        return try stage(.parts, source, isMoved: isMoved, randomness)
      }
    case .form(let fields):
      return try retrying { () throws(StageError) in
        try stage(form: fields, isMoved: isMoved, randomness)
      }
    }
  }

  /// What each source path of the body looks like now, in the order of the descriptor; nil where it names no
  /// regular file (D5).
  package func stamps(of description: BodyDescription) -> [SourceStamp?] {
    switch description {
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

  /// A file that is sent as it is.
  private func stage(
    _ kind: BodyKind, _ source: SourceFile, isMoved: Bool, _ randomness: any Randomness
  ) throws(StageError) -> Staged {
    if isMoved, source.stamp.size > Staged.rowLimit, let staged = try link(source, kind, randomness) {
      return staged
    }
    let content = BodyContent(kind: kind, contentType: nil, pieces: [.file(source)])
    return try stage(content, sources: [source], randomness).moving(isMoved ? [source] : [])
  }

  /// Takes the file itself; nil where it can have no second name. The caller's own name stays until the row
  /// that owns the file is committed (D28).
  private func link(
    _ source: SourceFile, _ kind: BodyKind, _ randomness: any Randomness
  ) throws(StageError) -> Staged? {
    let name = randomness.uuid()
    guard folder.link(source.descriptor, as: name) else { return nil }
    do throws(StageError) {
      if let number = SystemError.of({ fsync(source.descriptor) }) { throw .storage(number) }
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

  private func stage(
    form fields: [FormField], isMoved: Bool, _ randomness: any Randomness
  ) throws(StageError) -> Staged {
    var sources: [Int: SourceFile] = [:]
    for (index, field) in fields.enumerated() {
      guard case .path(let path, _) = field.content else { continue }
      sources[index] = try open(path, field: "request.form[\(index)].path", isMoved: isMoved)
    }
    let multipart = Multipart(fields, randomness: randomness)
    let pieces = multipart.pieces.compactMap { piece -> BodyContent.Piece? in
      switch piece {
      case .bytes(let bytes): .bytes(bytes)
      case .file(let field): sources[field].map { .file($0) }
      }
    }
    let content = BodyContent(kind: .form, contentType: multipart.contentType, pieces: pieces)
    let files = sources.sorted { $0.key < $1.key }.map(\.value)
    return try stage(content, sources: files, randomness).moving(isMoved ? files : [])
  }

  private func stage(
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
    let name = randomness.uuid()
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

  private func open(
    _ path: FilePath, field: String, isMoved: Bool
  ) throws(StageError) -> SourceFile {
    try SourceFile(path, field: field, outside: folder.queueDirectory, followsLinks: !isMoved)
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
