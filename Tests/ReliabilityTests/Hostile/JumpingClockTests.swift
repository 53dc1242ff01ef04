import StorageTestSupport

/// A disk whose clock is set forth and back: what changes after a jump has the time of the new clock.
private struct JumpingDisk: StatusShowingDisk {
    let base: any FileSystem = POSIXFileSystem()
    private let clock = Clock()

    private final class Clock: Sendable {
        private struct Timing: Hashable {
            var inode: UInt64
            var time: Int64
        }

        /// How far the clock is from the real one, in nanoseconds, and was when a change was first seen.
        private let state = Mutex<(shift: Int64, seen: [Timing: Int64])>((0, [:]))

        func set(_ seconds: Int64) { state.withLock { $0.shift = seconds * 1_000_000_000 } }

        func shown(_ time: Int64, of inode: UInt64) -> Int64 {
            state.withLock { state in
                let timing = Timing(inode: inode, time: time)
                let shift = state.seen[timing] ?? state.shift
                state.seen[timing] = shift
                return time + shift
            }
        }
    }

    func jump(_ seconds: Int64) { clock.set(seconds) }

    func shown(_ status: FileStatus) -> FileStatus {
        var status = status
        status.modifiedAt = clock.shown(status.modifiedAt, of: status.inode)
        status.changedAt = clock.shown(status.changedAt, of: status.inode)
        return status
    }
}

@Suite("A clock that is set between verbs") struct JumpingClockTests {
    private static let day: Int64 = 86_400

    /// What a life of a store comes to.
    private struct Outcome: Equatable {
        var versions: [String]
        var facts: Facts
        var shown: [String: String]
        var collected: Int
    }

    /// Tells a life; before each verb the clock is set anew.
    private func live(_ jumps: [Int64]) throws -> Outcome {
        let directory = TemporaryDirectory()
        let place = Place(root: directory.appending("disk"), beside: directory.appending("beside"))
        mkdir(place.root, 0o755)
        mkdir(place.beside, 0o755)
        let disk = JumpingDisk()
        var count = 0
        func set() {
            disk.jump(jumps[count % jumps.count])
            count += 1
        }
        set()
        _ = try VersionStore.create(
            at: place.store, options: Place.options(false), fileSystem: disk)
        func tell(_ verb: (VersionStore) throws -> Void) throws {
            set()
            try verb(place.open(on: disk))
        }
        try tell { try place.add("0", to: $0) }
        try tell { try $0.activate("0") }
        try tell { versions in try versions.confirm("0", token: versions.boot().token) }
        try tell { try place.add("1", to: $0) }
        try tell { try place.add("2", to: $0) }
        try tell { try $0.activateAtNextBoot("2") }
        try tell { _ = try $0.boot() }
        // A file of the same size, changed after the clock was set back: its content counts.
        try writeTree(place.beside + "/edited", ["page": "before"])
        try tell { _ = try $0.add(directory: place.beside + "/edited", version: "3") }
        try writeTree(place.beside + "/edited", ["page": "after!"])
        try tell { _ = try $0.add(directory: place.beside + "/edited", version: "4") }
        try tell { try $0.retire("1") }
        var collected = 0
        try tell { collected = try $0.collect().objectCount }
        var since = CheckOptions()
        since.since = secondsNow() - Self.day
        for options in [CheckOptions(isDeep: true), since] {
            try tell { try expectSound($0, options) }
        }
        try tell { _ = try $0.rollback() }
        set()
        let versions = try place.open(on: disk)
        try expectSound(versions, CheckOptions(isDeep: true))
        return Outcome(
            versions: try versions.versions().map(\.version), facts: try Facts(place, versions),
            shown: try readTree(place.store + "/versions/4"), collected: collected)
    }

    private func expectSound(_ versions: VersionStore, _ options: CheckOptions) throws {
        try expect(versions.check(options).findings, equals: [])
    }

    @Test(arguments: [
        [day, -day], [-day, 0, day], [-3600, 3600, 0], [0, -10 * 365 * day],
        [80 * 365 * day, -50 * 365 * day],
    ])
    func `changes nothing of what the verbs come to`(_ jumps: [Int64]) throws {
        let outcome = try live(jumps)
        try expect(outcome, equals: live([0]))
        expect(outcome.versions, equals: ["4", "3", "2", "0"])
        expect(outcome.facts.lifecycle.current, equals: "0")
        expect(outcome.shown, equals: ["page": "after!"])
        expect(outcome.collected > 0)
    }
}
