import Testing

@testable import SidecarServer

@Suite("The first line of a process that attaches")
struct AttachGreetingTests {
  @Test("hosts say what they want once they are gone, visitors that they are none")
  func roundTrip() {
    var arrivals = [AttachGreeting.Arrival.visitor]
    for onDisconnect in [OnDisconnect.exit, .drain, .stay(seconds: 600)] {
      for keepsAwake in [false, true] {
        arrivals.append(.host(.init(onDisconnect: onDisconnect, keepsAwake: keepsAwake)))
      }
    }
    for arrival in arrivals {
      #expect(AttachGreeting.read(Array(AttachGreeting.request(arrival).dropLast())) == arrival)
    }
  }

  @Test(
    "anything else is no greeting",
    arguments: [
      "", "outtray-attach 1", "outtray-attach 2 visit", "outtray-attach 1 visits", "visit",
      "outtray-attach 1 exit asleep", "outtray-attach 1 exit keep-awake more",
      "outtray-attach 1 visit keep-awake",
    ])
  func refused(_ line: String) {
    #expect(AttachGreeting.read(Array(line.utf8)) == nil)
  }
}
