import StorageTestSupport

@testable import ServeFromCAS

@Suite("The start of a version whose time is over")
struct StartsTests {
    private let starts = Starts(nil)

    private func begin(behind worker: String? = nil, byToken: Bool = false) {
        let behind = worker.map { Starts.BehindWorker(version: "2", token: "t", browser: $0) }
        starts.begin("2", byToken: byToken, isOthers: false, behind: behind)
    }

    /// Whether its version waits as after a failed start; `nil` if the start is judged.
    private func rests(isHidden: Bool = true, isReturnable: Bool = true) -> Bool? {
        starts.excuse(token: "t", isHidden: { isHidden }, isReturnable: { isReturnable })?.rests
    }

    @Test func `is judged if nothing has tainted it since it began`() {
        for taint in [Starts.Taint.contradicted, .refused] {
            starts.note(taint)
            expect(rests(), equals: true)
            begin(behind: "b", byToken: true)
            expect(rests(), equals: nil)
        }
        expect(starts.has(.byToken))
    }

    @Test func `may be a stranger's until a page shows itself, and needs a version to go back to`()
    {
        starts.note(.untrusted)
        begin()
        expect(rests(), equals: false)
        expect(rests(isReturnable: false), equals: nil)
        expect(starts.end(.untrusted))
        expect(!starts.end(.untrusted))
        expect(rests(), equals: nil)
    }

    @Test func `is taken back if only older pages of its worker's browser were heard`() {
        begin(behind: "b")
        starts.hear("1", in: "another")
        expect(rests(), equals: nil)
        starts.hear("1", in: "b")
        // What was refused was the worker's.
        starts.note(.refused)
        expect(rests(), equals: false)
        expect(rests(isHidden: false), equals: true)
        starts.hear("2", in: nil)
        starts.hear("1", in: "b")
        expect(rests(), equals: true)
    }

    @Test func `was made by a page of another origin at most once, until it counts`() {
        starts.begin("2", byToken: false, isOthers: true, behind: nil)
        expect(!starts.mayOthersStart("2") && starts.mayOthersStart("1"))
        starts.letOthersStart("2")
        expect(starts.mayOthersStart("2"))
    }
}
