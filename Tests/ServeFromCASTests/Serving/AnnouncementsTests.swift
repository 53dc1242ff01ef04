import StorageTestSupport
import VersionTree

@testable import ServeFromCAS

@Suite("What is said of versions")
struct AnnouncementsTests {
    @Test func `is said once, and once more if pages are to reload themselves`() {
        var said = Announcements()
        expect(said.becomesReady("2", reloads: false), equals: .versionReady(version: "2"))
        expect(said.becomesReady("2", reloads: false), equals: nil)
        expect(!said.reloads(for: "2"))
        expect(
            said.becomesReady("2", reloads: true),
            equals: .versionReady(version: "2", reload: true))
        expect(said.becomesReady("2", reloads: false), equals: nil)
        expect(said.reloads(for: "2") && !said.reloads(for: "1"))
    }

    @Test func `tells every page of a version that was rolled back, and as many of others`() {
        var said = Announcements()
        func told(_ page: String?) -> [String] { said.rollbacks(toldTo: page).map(\.version) }
        expect(said.rollBack("2", "it is red", at: 1, ownCount: 2)?.untoldCount, equals: 2)
        expect(said.rollBack("2", "it is red", at: 1, ownCount: 2)?.version, equals: nil)
        expect((1...3).flatMap { _ in told("2") }, equals: ["2", "2", "2"])
        expect((1...3).flatMap { _ in told("1") }, equals: ["2", "2"])
    }

    @Test func `is news again once the version was shown again`() {
        var said = Announcements()
        var (shown, left) = (Lifecycle(), Lifecycle())
        (shown.current, left.current) = ("2", "1")
        for _ in 1...2 {
            expect(said.changes(left, shown)?.version, equals: nil)
            expect(said.rollBack("2", "it is red", at: 1, ownCount: 0)?.at, equals: 1)
        }
    }
}
