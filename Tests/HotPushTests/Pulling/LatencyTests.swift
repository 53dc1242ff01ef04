import OriginTestSupport

@testable import HotPush

@Suite("Objects one by one") struct LatencyTests {
    @Test("are asked for so many at once as the transport carries: a far server costs little more")
    func latency() throws {
        let fixture = try PullingFixture(offering: "2")
        let count = 3
        let asked = Mutex<Set<String>>([])
        let isOver = Mutex(false)
        let texts = Set(PublishingPlace.second.values.filter { !$0.isEmpty })
        expect(texts.count >= count)
        for text in texts {
            let path = try fixture.path(of: text)
            fixture.origin.before(path) { _ in
                _ = asked.withLock { $0.insert(path) }
                // None is answered before so many others are asked for.
                while asked.withLock({ $0.count < count }), !isOver.withLock({ $0 }) {
                    sched_yield()
                }
            }
        }
        defer { isOver.withLock { $0 = true } }
        try fixture.run(parallel: count)
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }
}
