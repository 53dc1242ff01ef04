import StorageTestSupport

@testable import HotPush

@Suite("An update that fails", .timeLimit(.minutes(60))) struct UnsaidFailureTests {
    private func isToldOf(_ code: StoreError.Code, by event: StoreEvent) -> Bool {
        let isFailure =
            ["plan", "download", "update"].contains(event.text("deed"))
            || event.downloadOutcome == .failed || event.answer == .failed
        return isFailure && event.failure?.code == code.description
    }

    @Test(arguments: [ENOSPC, EACCES, EROFS])
    func `is in the event log, whichever call fails`(_ errno: Int32) throws {
        let fixture = try PullingFixture(offering: "1")
        var (position, failures) = (0, 0)
        while true {
            position += 1
            let device = try TemporaryStore()
            let disk = FaultyFileSystem()
            let versions = try device.opened(on: disk, keeping: 0)
            let eventLog = EventLog(device.versions)
            let options = PullingFixture.options.with { $0.eventLog = eventLog }
            let pull = Pull(into: versions, over: try PullingFixture.transport(), options)
            disk.arm(.fail(errno, at: position, of: FaultyFileSystem.Verb.allocating))
            let failure = code { try pull.run(fixture.origin.url) }
            guard let fault = disk.firedAt else { break }
            guard let failure else { continue }
            failures += 1
            let events = try eventLog.entries().map(\.event)
            expect(
                events.contains { isToldOf(failure, by: $0) },
                "\(position), \(fault): \(failure), \(events.map(\.sentence))")
        }
        expect(failures > 10)
    }
}
