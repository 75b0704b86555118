import QueueEngine
import QueueModel

/// One host from its first frame to its last.
final class HostSession {
  /// How the host reached the process.
  enum Role: String {
    /// On the standard streams: its process owns the directory.
    case owner
    /// Through the socket in the directory.
    case attached
  }

  let role: Role
  let connection: Connection
  let wire: HostWire
  var methods = MethodTable()
  /// What it wants once it is gone; nil until an attached host has greeted, and it counts as a host only
  /// then.
  var onDisconnect: OnDisconnect?
  /// A command that somebody typed: nobody stays for it, and its going ends nothing.
  var isVisitor = false
  /// It closed its end, or asked for its process to end.
  var hasLeft = false
  /// It called `shutdown`: nothing more is taken from it.
  var hasAskedForEnd = false
  /// The process goes on without it, so its wire is closed once it is served.
  var isDismissed = false

  init(_ role: Role, _ connection: Connection, _ wire: HostWire, onDisconnect: OnDisconnect?) {
    self.role = role
    self.connection = connection
    self.wire = wire
    self.onDisconnect = onDisconnect
  }

  var id: HostID { connection.id }

  /// It has greeted and not left, and the process stays for it.
  var isPresent: Bool { onDisconnect != nil && !hasLeft && !isVisitor }

  /// Everything it asked for is answered, and written if somebody reads it.
  var isServed: Bool { wire.outputEnded || (connection.unanswered == 0 && wire.isFlushed) }
}
