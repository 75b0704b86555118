import Glibc
import Simulation

// Sets of a process differ in their order from those of another unless this is said before it starts.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
  execv("/proc/self/exe", &arguments)
}
do {
  exit(try Options(CommandLine.arguments.dropFirst()).run())
} catch let misuse as Misuse {
  let text = Array("simulate: \(misuse.message)\n\(Options.usage)\n".utf8)
  _ = write(2, text, text.count)
  exit(64)
}
