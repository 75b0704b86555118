package import QueueModel

/// An outcome as the journal holds it until it is acknowledged.
package struct JournaledOutcome: Sendable {
  /// Rises with each outcome.
  package var number: Int64
  package var record: Record
  /// How often it was sent to a host, over all starts.
  package var deliveries: Int64
  /// Length of the stored text, which is near that of the frame.
  package var bytes: Int
}
