import Glibc
import Testing

@testable import AcceptanceCheck

@Suite("SHA-256, as FIPS 180-4 has it")
struct SHA256Tests {
  @Test(
    "the published vectors",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
          + "mnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
    ])
  func vectors(text: String, digest: String) {
    #expect(SHA256.hex(of: Array(text.utf8)) == digest)
  }

  @Test("the published vector of a million letters, given in pieces")
  func million() {
    var hash = SHA256()
    for _ in 0..<8000 { hash.update([UInt8](repeating: UInt8(ascii: "a"), count: 125)) }
    #expect(hash.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("any cut gives the same digest, and asking for it changes nothing")
  func pieces() {
    let bytes = Sample.bytes(200, seed: 1)
    let whole = SHA256.hex(of: bytes)
    for cut in 0...bytes.count {
      var hash = SHA256()
      hash.update(Array(bytes[..<cut]))
      #expect(hash.hex == SHA256.hex(of: Array(bytes[..<cut])))
      hash.update(Array(bytes[cut...]))
      #expect(hash.hex == whole, "cut at \(cut)")
    }
  }

  @Test("sha256sum says the same of random files, around every border of a block")
  func coreutils() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let folder = try TemporaryFolder(in: "/tmp")
    defer { _ = folder.remove() }
    let sizes = Array(0...130) + [4095, 4096, 4097, 100_003]
    let samples = try sizes.map { size in
      try Sample(at: "\(folder.path)/\(size)", size: size, seed: seed &+ UInt64(size))
    }
    let child = try ChildProcess(
      "/usr/bin/sha256sum", ["sha256sum"] + samples.map(\.path), log: "\(folder.path)/log")
    var output: [UInt8] = []
    while case let bytes = child.read(), !bytes.isEmpty { output += bytes }
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines == samples.map { "\($0.sha256)  \($0.path)" }, "seed \(seed)")
  }
}
