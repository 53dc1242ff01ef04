@testable import CASStore
@testable import HotPush
@testable import VersionTree

// Small files of a store, as a dying disk or a curious user may leave them.

extension FuzzTarget {
    typealias LifecycleWriting = @Sendable (Lifecycle) throws(StoreError) -> [UInt8]

    static let lifecycles = lifecycles { (lifecycle) throws(StoreError) in
        try lifecycle.serialized()
    }

    static func lifecycles(_ writing: @escaping LifecycleWriting) -> FuzzTarget {
        FuzzTarget(name: "lifecycles", words: lifecycleWords) { try checkLifecycle($0, writing) }
    }

    private static let lifecycleWords = [
        "\"bad\":[", "\"boot\":{", "\"confirmed\":{", "\"current\":\"", "\"embedded\":null",
        "\"format\":1",
        "\"knownGood\":[", "\"pending\":", "\"token\":\"", "\"content\":\"", "\"count\":",
        String(repeating: "a", count: 64), "../", "\"digest\":\"",
    ]

    private static func checkLifecycle(_ input: [UInt8], _ writing: LifecycleWriting) throws {
        if let line = EventLogEntry(line: input) {
            try hold(
                line.line.last == 10 && !line.line.dropLast().contains(10), "an event of two lines")
        }
        guard let lifecycle = try unlessRefused({ try Lifecycle(parsing: input) }) else { return }
        let again = try Lifecycle(parsing: writing(lifecycle))
        var expected = lifecycle
        // Without members that are not ours it may be what it was before somebody put them in.
        if again.staleDigest == nil { expected.staleDigest = nil }
        try hold(again == expected, "another lifecycle when it is written and read")
        let names =
            [lifecycle.current, lifecycle.pending, lifecycle.embedded] + lifecycle.knownGood
        for case let name? in names {
            try hold((try? VersionName(name)) != nil, "the version \(name)")
        }
    }

    static let stamps = FuzzTarget(name: "stamps", words: ["castree-stamp 1 ", " 0", "\n"]) {
        input in
        if let stamp = IndexStamp(input) {
            try hold(
                IndexStamp(stamp.encoded) == stamp, "another stamp when it is written and read")
        }
        if let runs = input.withUnsafeBytes({ EdgeRuns($0) }) {
            var last: Int64 = -1
            for run in runs.runs {
                try hold(
                    run.lowerBound > last && run.upperBound >= run.lowerBound, "runs out of order")
                last = run.upperBound
            }
            _ = runs.encoded
        }
    }
}
