import JSONText
package import QueueModel

/// A body ready to be named by a row.
package struct Staged: Sendable {
  package var body: StagedBody
  /// For a place of `.row`: what `Writer.insert` and `Writer.putRowBody` take.
  package var rowBytes: [UInt8]?
  /// Files of the caller whose names go once the entry is committed (D28): what `Writer.note` takes.
  package var moved: [MovedSource] = []

  /// The largest body that is kept in the database, bytes (D27).
  package static let rowLimit = 64 * 1024

  package init(body: StagedBody, rowBytes: [UInt8]?) {
    self.body = body
    self.rowBytes = rowBytes
  }

  /// A body that needs no file to be read or written; nil for every other.
  package init?(inline description: BodyDescription) {
    switch description {
    case .none: self.init(body: .none, rowBytes: nil)
    case .data(let json):
      guard json.count <= Staged.rowLimit else { return nil }
      self.init(data: Array(json.text))
    case .form, .file, .parts: return nil
    }
  }

  init(data bytes: [UInt8]) {
    self.init(
      body: StagedBody(
        kind: .data, length: Int64(bytes.count), place: .row, contentType: Staged.dataContentType),
      rowBytes: bytes)
  }

  /// What `data` is sent as unless the caller says otherwise.
  static let dataContentType = "application/json"
}

/// Why a body could not be staged. Nothing of it was left behind. A field is a JSON path such as
/// `request.form[2].path`.
package enum StageError: Error, Sendable, Equatable {
  /// Names no file.
  case missing(field: String)
  /// Names a directory, a FIFO, a device or a socket.
  case notRegular(field: String)
  /// Names a symbolic link, which cannot be moved (D29).
  case symbolicLink(field: String)
  /// The file is there and cannot be read.
  case unreadable(field: String)
  /// The file lies in the queue's own directory (D29).
  case insideDirectory(field: String)
  /// The parts do not tile the file.
  case misfit(InvalidInput)
  /// The file did not hold still while it was read.
  case changed(field: String)
  /// The file was not found in time (D29).
  case late(field: String)
  /// The size of the file says nothing of its content, as in /proc and /sys.
  case sizeless(field: String)
  /// The store cannot take the body: E_STORAGE.
  case storage(message: String)
}
