import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// docs/clients.md, "From a bucket": a file that alone does not answer keeps nobody from what else is new.
@Suite struct MirrorLaggardTests {

    /// A bucket in which one file is never answered, at once or after everything else.
    private final class Silence: Sendable {
        private enum Mode { case broken, silent, over }
        private let state = Mutex<(key: String?, mode: Mode, waiting: Int)>((nil, .over, 0))

        var isAsked: Bool { state.withLock { $0.waiting > 0 } }
        func fail(_ key: String) { state.withLock { ($0.key, $0.mode) = (key, .broken) } }
        func fallSilent() { state.withLock { $0.mode = .silent } }
        func end() { state.withLock { $0.mode = .over } }

        func meet(_ request: ModelRequest) -> RequestFate {
            var isCounted = false
            defer { if isCounted { state.withLock { $0.waiting -= 1 } } }
            while true {
                let mode = state.withLock { state -> Mode in
                    guard state.key == request.key else { return .over }
                    if state.mode == .silent, !isCounted {
                        state.waiting += 1
                        isCounted = true
                    }
                    return state.mode
                }
                switch mode {
                case .broken: return .dropped
                case .silent: pause(milliseconds: 1)
                case .over: return .answered
                }
            }
        }
    }

    private func wait(until isSo: () throws -> Bool) throws {
        for _ in 0..<30_000 {
            if try isSo() { return }
            pause(milliseconds: 1)
        }
        throw StoreError(.mismatch, "it never becomes so")
    }

    @Test(.timeLimit(.minutes(60)))
    func `looks that do not end are told once, until they end in time again`() throws {
        let place = try BucketPlace()
        try place.publish("1", ["a": "one"])
        let silence = Silence()
        let notices = Notices()
        let (mirror, _) = try place.mirror(
            place.bucket { silence.meet($0) }, timeout: 3_600_000, notices: notices)
        mirror.look()
        mirror.tellIfLate(after: 3_600_000)
        expect(notices.all, equals: [])
        silence.fail(BucketPlace.pointerKey)
        silence.fallSilent()
        Parallel.detach { mirror.look() }
        try wait { silence.isAsked }
        for _ in 0..<3 { mirror.tellIfLate(after: 0) }
        expect(notices.all.count == 1 && notices.all[0].contains("too slowly"), "\(notices.all)")
        silence.end()
        try wait { !silence.isAsked }
        // It has ended, late.
        mirror.tellIfLate(after: 0)
        expect(notices.all.count, equals: 1)
        // Another one ends in time; the next late one is news.
        mirror.look()
        mirror.tellIfLate(after: 3_600_000)
        expect(notices.all.count, equals: 1)
        mirror.tellIfLate(after: 0)
        expect(notices.all.count, equals: 2)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a file that does not answer delays one look, and counts when it answers again`() throws {
        let model = try BucketPlace()
        try model.publish("1", ["a": "one"])
        try model.publish("2", ["a": "two"], epoch: 2)
        let version = try require(model.pointer.releases.first?.version)
        let facts = try require(model.pointer.releases.first?.facts?.address)
        for key in [
            OriginLayout.marker, OriginLayout.channelList,
            BucketPlace.configurationKey, BucketPlace.historyKey, BucketPlace.pointerKey,
            OriginLayout.path(.facts, facts, in: version.epoch),
        ] {
            let place = try BucketPlace()
            try place.publish("1", ["a": "one"])
            let silence = Silence()
            let notices = Notices()
            let (mirror, answers) = try place.mirror(
                place.bucket { silence.meet($0) }, timeout: 0, notices: notices)
            let old = try answers.text(ModelFeed.check)
            silence.fail(key)
            try place.publish("2", ["a": "two"], epoch: 2)
            mirror.look()
            // From now on whoever waits for that file waits for ever.
            silence.fallSilent()
            for _ in 0..<3 { mirror.look() }
            try wait { silence.isAsked }
            let isOfChannel =
                key == BucketPlace.historyKey || key == BucketPlace.pointerKey
                || key.hasPrefix("facts/") || key.hasPrefix("e/")
            try expect((answers.text(ModelFeed.check) == old) == isOfChannel, "\(key)")
            expect(notices.all.count == 1 && notices.all[0].contains(key), "\(notices.all)")
            silence.end()
            try wait {
                mirror.look()
                return try answers.text(ModelFeed.check) != old && !silence.isAsked
            }
            expect(notices.all.count, equals: 1, "\(notices.all)")
        }
    }

    @Test func `a mirror says that there is no origin only where none is`() throws {
        let place = try BucketPlace()
        for (fate, code) in [
            (RequestFate.denied, StoreError.Code.accessDenied), (.dropped, .network),
        ] {
            let bucket = place.bucket { $0.key == OriginLayout.marker ? fate : .answered }
            let error = #expect(throws: StoreError.self) { try place.mirror(bucket, at: "cold") }
            expect(error?.code, equals: code)
        }
    }

    @Test func `rights that are gone are one sentence, however many files are refused`() throws {
        let place = try BucketPlace()
        try place.publish("1", ["a": "one"])
        let isRefused = Mutex(false)
        let notices = Notices()
        let (mirror, answers) = try place.mirror(
            place.bucket { _ in isRefused.withLock { $0 } ? .denied : .answered }, notices: notices)
        let old = try answers.text(ModelFeed.check)
        for count in 1...2 {
            isRefused.withLock { $0 = true }
            for _ in 0..<2 { mirror.look() }
            try expect(answers.text(ModelFeed.check), equals: old)
            expect(notices.all.count == count, "\(notices.all)")
            expect(notices.all[count - 1].contains("what is in the cache is still answered"))
            isRefused.withLock { $0 = false }
            mirror.look()
        }
    }
}
