import StorageTestSupport

/// Runs a verb once, and then cuts the power after each of its changes.
struct PowerCuts {
    let scenario: Scenario
    /// Where bytes are torn.
    var seed: UInt64 = 1
    /// What stands between the engine and the disk: a deliberate fault.
    var fault: (@Sendable (RecordingDisk) -> any FileSystem)?
    /// Stop at the first problem.
    var stopsEarly = false
    /// Of so many states one is looked at, but every one that an acknowledgement is followed by.
    var oneIn = 1

    struct Tally: Sendable {
        var operations = 0
        var points = 0
        /// The points at which each part is taken away alone, and left alone.
        var ends = 0
        /// Of the points of second lives one in so many is looked at.
        var stride = 1
        var states = 0
        /// Those that this run looked at: of its share, each once.
        var distinct = 0
        var problems: [String] = []

        static func += (left: inout Tally, right: Tally) {
            left.operations += right.operations
            left.points += right.points
            left.ends += right.ends
            left.states += right.states
            left.distinct += right.distinct
            left.problems += right.problems
        }
    }

    /// A run of the verb on a disk that notes everything.
    struct Recording {
        var disk: RecordingDisk
        var before: Facts
        var after: Facts
        var failure: (any Error)?
        /// The index that is durable when the recording begins, if it is not the one that is there.
        var saved: RecordingDisk.IndexFiles?
    }

    static func prepared(_ scenario: Scenario, in directory: TemporaryDirectory) throws -> Place {
        let place = Place(root: directory.appending("disk"), beside: directory.appending("beside"))
        mkdir(place.root, 0o755)
        mkdir(place.beside, 0o755)
        try scenario.prepare(place)
        return place
    }

    func record(_ place: Place) throws -> Recording {
        let before = scenario.hasStore ? try Facts(place, place.open()) : Facts()
        // Opening may have something to do, such as to make a lost index again.
        if scenario.testDescription == Scenario.rebuild.testDescription {
            try scenario.prepareAgain(place)
        }
        let disk = try RecordingDisk(place.root)
        var failure: (any Error)?
        do { try scenario.run(place, fault?(disk) ?? disk, true) } catch { failure = error }
        disk.lookAtIndex()
        disk.catchUp()
        let after = failure == nil ? try Facts(place, place.open()) : before
        return Recording(disk: disk, before: before, after: after, failure: failure)
    }

    /// Cuts the power at every point of a run.
    func run() throws -> Tally {
        let directory = TemporaryDirectory(inMemory: true)
        let place = try Self.prepared(scenario, in: directory)
        let recording = try record(place)
        if let failure = recording.failure {
            return Tally(problems: ["\(scenario.testDescription) failed: \(failure)"])
        }
        return cut(recording, place, directory)
    }

    /// Cuts the power at every point of what was recorded.
    func cut(_ recording: Recording, _ place: Place, _ directory: TemporaryDirectory) -> Tally {
        let disk = recording.disk
        var tally = Tally(operations: disk.steps.count)
        var device = disk.beginning
        var saved = recording.saved ?? disk.indexes.first
        var seen: Set<Int> = []
        var random = SeededRandom(seed: seed)
        let share = TestShare(oneIn: oneIn, of: scenario.testDescription)
        for point in 0...disk.steps.count {
            let isLast = point == disk.steps.count
            if point > 0 {
                let step = disk.steps[point - 1]
                device.apply(step.change)
                if step.savesIndex { saved = disk.indexes[step.index] }
            }
            let now = isLast ? disk.indexes.count - 1 : disk.steps[point].index
            tally.points += 1
            let isEnd = isLast || disk.steps[point].change.isSync
            if isEnd { tally.ends += 1 }
            let choices = Choice.all(
                of: device, saved: saved, now: disk.indexes[now],
                isEnd: isEnd, turn: point,
                inOrder: scenario.trustsJournal)
            for choice in choices {
                let seed = random.next()
                tally.states += 1
                guard isLast || share.takes(tally.states) else { continue }
                let remains = Remains(
                    device, choice, seed: seed, saved: saved, now: disk.indexes[now])
                var hasher = Hasher()
                hasher.combine(remains.signature)
                hasher.combine(isLast)
                guard seen.insert(hasher.finalize()).inserted else { continue }
                tally.distinct += 1
                let problems = problems(
                    remains, recording, place, directory, isAcknowledged: isLast,
                    number: tally.distinct)
                let after = point == 0 ? "the beginning" : disk.steps[point - 1].text
                tally.problems += problems.map {
                    "\(scenario.testDescription), cut after \(point) of \(disk.steps.count) "
                        + "(\(after)), left \(choice), seed \(seed): \($0)"
                }
                if stopsEarly, !tally.problems.isEmpty { return tally }
            }
        }
        return tally
    }

    private func problems(
        _ remains: Remains, _ recording: Recording, _ place: Place,
        _ directory: TemporaryDirectory, isAcknowledged: Bool, number: Int
    ) -> [String] {
        let here = place.moved(to: directory.appending("cut-\(number)"))
        defer { Damage.remove(here.root) }
        do {
            let (disk, _) = try remains.build(at: here.root)
            return PromiseCheck(
                scenario: scenario, before: recording.before, after: recording.after,
                isAcknowledged: isAcknowledged
            ).problems(at: here, on: disk, tryingWithoutIndex: number % 4 == 0)
        } catch {
            return ["\(error)"]
        }
    }
}

extension Scenario {
    /// Prepares a place again whose damage has been mended by looking at it.
    func prepareAgain(_ place: Place) throws {
        for name in ["index.sqlite", "index.sqlite-journal", "stamp"] {
            Damage.remove(place.store + "/" + name)
        }
    }
}

extension PowerCuts {
    /// Kills the process after changes that are not durable yet, lets another do the same to its end, and
    /// then cuts the power: what the second one acknowledges it must have made durable itself.
    ///
    /// Of a verb with many points not every one is looked at: see `limit`.
    func runTwice() throws -> Tally {
        let directory = TemporaryDirectory(inMemory: true)
        let place = try Self.prepared(scenario, in: directory)
        let recording = try record(place)
        let all = kills(recording)
        var tally = Tally()
        tally.points = all.count
        tally.stride = max(1, (all.count + Self.limit - 1) / Self.limit)
        let turns = Array(stride(from: 0, to: all.count, by: tally.stride))
        for turn in TestShare(oneIn: oneIn, of: scenario.testDescription).of(turns) {
            let (point, killed) = all[turn]
            tally.problems += try goOn(killed, turn, recording, place, directory, &tally).map {
                "\(scenario.testDescription), killed after \(point) "
                    + "(\(recording.disk.steps[point - 1].text)): \($0)"
            }
        }
        return tally
    }

    /// How many points of a verb get a second life at most.
    private static let limit = 32

    /// What a killed process leaves, as programs see it, and what of it is durable.
    private struct Killed {
        var remains: Remains
        var device: Device
        var saved: RecordingDisk.IndexFiles?
    }

    /// The points after which something is there that is not durable, where that has changed.
    private func kills(_ recording: Recording) -> [(point: Int, killed: Killed)] {
        let steps = recording.disk.steps
        var device = recording.disk.beginning
        var saved = recording.disk.indexes.first
        var seen: Set<Int> = []
        var kills: [(Int, Killed)] = []
        for (index, step) in steps.enumerated() {
            device.apply(step.change)
            if step.savesIndex { saved = recording.disk.indexes[step.index] }
            guard !device.pending.isEmpty else { continue }
            let point = index + 1
            let now =
                point < steps.count ? steps[point].index : recording.disk.indexes.count - 1
            let remains = Remains(
                device, .everything(device), seed: 0, saved: saved,
                now: recording.disk.indexes[now])
            guard seen.insert(remains.signature).inserted else { continue }
            kills.append((point, Killed(remains: remains, device: device, saved: saved)))
        }
        return kills
    }

    private func goOn(
        _ killed: Killed, _ turn: Int, _ first: Recording, _ place: Place,
        _ directory: TemporaryDirectory, _ tally: inout Tally
    ) throws -> [String] {
        let here = place.moved(to: directory.appending("killed"))
        defer { Damage.remove(here.root) }
        let (restored, nodes) = try killed.remains.build(at: here.root)
        let disk = RecordingDisk(here.root, resuming: killed.device, on: restored, nodes: nodes)
        do { try scenario.run(here, fault?(disk) ?? disk, true) } catch let error as StoreError {
            // It says that it is done: that, too, is a promise.
            guard scenario.isDone.contains(error.code) else { return ["\(error)"] }
            if scenario.promisesNothingTwice { return [] }
        }
        disk.lookAtIndex()
        guard let files = disk.indexes.last else { return [] }
        var problems: [String] = []
        var after = first.after
        if let follows = scenario.follows {
            // What the second one found, seen where looking changes nothing of it.
            let copy = place.moved(to: directory.appending("found"))
            defer { Damage.remove(copy.root) }
            let found = try Facts(copy, copy.open(on: killed.remains.build(at: copy.root).disk))
            after = try Facts(here, here.open(on: restored))
            if !follows(found, after) { problems.append("I8: \(found) became \(after)") }
        }
        let last = disk.steps.lastIndex { $0.savesIndex }
        let durable = last.map { disk.indexes[disk.steps[$0].index] } ?? killed.saved
        let choices = Choice.all(
            of: disk.now, saved: durable, now: files, isEnd: false, turn: turn,
            inOrder: scenario.trustsJournal)
        // Nothing, and everything but one part.
        for choice in [choices.first, choices.last].compactMap(\.self) {
            let cut = Remains(disk.now, choice, seed: 0, saved: durable, now: files)
            tally.states += 1
            let there = place.moved(to: directory.appending("cut"))
            defer { Damage.remove(there.root) }
            let (disk, _) = try cut.build(at: there.root)
            problems += PromiseCheck(
                scenario: scenario, before: first.before, after: after, isAcknowledged: true
            ).problems(at: there, on: disk, tryingWithoutIndex: false)
        }
        return problems
    }
}
