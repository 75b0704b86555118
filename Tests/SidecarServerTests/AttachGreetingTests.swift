import Testing

@testable import SidecarServer

@Suite("The first line of a process that attaches")
struct AttachGreetingTests {
  @Test("hosts say what they want once they are gone, visitors that they are none")
  func roundTrip() {
    for arrival in [
      AttachGreeting.Arrival.visitor, .host(.exit), .host(.drain), .host(.stay(seconds: 600)),
    ] {
      #expect(AttachGreeting.read(Array(AttachGreeting.request(arrival).dropLast())) == arrival)
    }
  }

  @Test(
    "anything else is no greeting",
    arguments: ["", "outtray-attach 1", "outtray-attach 2 visit", "outtray-attach 1 visits", "visit"])
  func refused(_ line: String) {
    #expect(AttachGreeting.read(Array(line.utf8)) == nil)
  }
}
