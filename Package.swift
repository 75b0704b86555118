// swift-tools-version: 6.2
import PackageDescription

// Short targets, bottom layer first. A target names every module that it may import; the layering test
// (Tests/TidyTests) holds the import lines against this table.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// The modules for regular expressions and for tasks are imported into every file unless this is said, and
/// linked in whole: a megabyte that no line of ours uses.
let lean = ["string-processing", "concurrency"].flatMap {
  ["-Xfrontend", "-disable-implicit-\($0)-module-import"]
}

func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict + [.unsafeFlags(lean)])
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
  name: "outtray",
  products: [.executable(name: "outtray", targets: ["outtray"])],
  targets: [
    // The C libraries, as headers with the static inlines that Swift cannot import by itself.
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),

    // Layer 0: values and rules; no I/O, no clock, no randomness.
    layer("JSONText"),
    layer("OuttrayProtocol", ["JSONText"]),
    layer("QueueModel", ["JSONText"]),

    // Layer 1: the disk, the network, the wire. They do not know each other.
    layer("JSONRPC", ["JSONText"]),
    layer("HTTPTransport", ["QueueModel", "CCurl", "CLinux"]),
    layer("QueueStore", ["QueueModel", "JSONText", "CSQLite", "CLinux"]),

    // Layer 2 joins the disk and the network by the rules; layer 3 translates, or is a host that checks
    // the whole by its wire alone, or the commands of people, who read the disk besides; layer 4 wires.
    layer("QueueEngine", ["QueueModel", "QueueStore"]),
    layer(
      "SidecarServer", ["OuttrayProtocol", "QueueModel", "QueueEngine", "JSONRPC", "JSONText", "CLinux"]),
    layer("AcceptanceCheck", ["OuttrayProtocol", "JSONRPC", "JSONText", "CLinux"]),
    layer("Console", ["OuttrayProtocol", "QueueModel", "QueueStore", "JSONRPC", "JSONText", "CLinux"]),
    .executableTarget(
      name: "outtray",
      dependencies: [
        "JSONText", "OuttrayProtocol", "QueueModel", "JSONRPC", "HTTPTransport", "QueueStore", "QueueEngine",
        "SidecarServer", "AcceptanceCheck", "Console", "CLinux", "CCurl",
      ],
      swiftSettings: strict + [.unsafeFlags(lean)]),

    tests("JSONTextTests", ["JSONText"]),
    tests("OuttrayProtocolTests", ["OuttrayProtocol", "JSONText"]),
    tests("QueueModelTests", ["QueueModel", "JSONText"]),
    tests("JSONRPCTests", ["JSONRPC", "JSONText"]),
    tests("HTTPTransportTests", ["HTTPTransport", "QueueModel"]),
    tests("QueueStoreTests", ["QueueStore", "QueueModel", "JSONText", "CSQLite"]),
    tests("QueueEngineTests", ["QueueEngine", "QueueStore", "QueueModel", "JSONText", "CSQLite"]),
    tests(
      "SidecarServerTests",
      [
        "SidecarServer", "OuttrayProtocol", "QueueEngine", "QueueModel", "JSONRPC", "JSONText", "CLinux",
      ]),
    tests("AcceptanceCheckTests", ["AcceptanceCheck", "JSONText"]),
    tests("ConsoleTests", ["Console", "QueueModel", "JSONText"]),
    // Replays the inputs of the fuzzers through their targets; scripts/fuzz builds those by itself.
    .testTarget(
      name: "FuzzTests",
      dependencies: ["JSONText", "QueueModel", "JSONRPC", "HTTPTransport", "QueueStore", "CSQLite", "CCurl"],
      path: "Tests/Fuzz",
      exclude: ["README.md", "driver", "formparser", "dictionaries", "corpus", "found"],
      swiftSettings: strict),
    tests("TidyTests", []),

    // Random histories of the engine on a disk that forgets (Tests/Simulation/README.md). A process of its
    // own: the disk stands in the place of SQLite's and of some functions of the C library. So its tests do
    // not depend on it, or it would be linked to all tests; what they run is built with them all the same.
    .target(
      name: "Disk", dependencies: ["CSQLite"], path: "Tests/Simulation/Disk", publicHeadersPath: "include"),
    .target(
      name: "Simulation", dependencies: ["Disk", "QueueEngine", "QueueStore", "QueueModel", "JSONText"],
      path: "Tests/Simulation/Engine", swiftSettings: strict),
    .executableTarget(
      name: "simulate", dependencies: ["Simulation", "Disk"], path: "Tests/Simulation/Command",
      swiftSettings: strict),
    tests("SimulationTests", []),
  ]
)
