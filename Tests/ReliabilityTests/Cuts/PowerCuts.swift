import CASStore
import Foundation
import StorageTestSupport

/// Runs a verb once, and then cuts the power after each of its changes.
struct PowerCuts {
    let scenario: Scenario
    /// States of any part, for each point.
    var mixtures = 2
    var seed: UInt64 = 1
    /// What stands between the engine and the disk: a deliberate fault.
    var fault: (@Sendable (RecordingDisk) -> any FileSystem)?
    /// Stop at the first problem.
    var stopsEarly = false

    /// What was looked at.
    struct Tally: Sendable {
        var operations = 0
        var points = 0
        var states = 0
        var distinct = 0
        var problems: [String] = []

        static func += (left: inout Tally, right: Tally) {
            left.operations += right.operations
            left.points += right.points
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
        let place = Place(
            root: directory.appending("disk"), beside: directory.appending("beside"))
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
        var random = SplitMix(state: seed)
        for point in 0...disk.steps.count {
            let isLast = point == disk.steps.count
            if point > 0 {
                let step = disk.steps[point - 1]
                device.apply(step.change)
                if step.savesIndex { saved = disk.indexes[step.index] }
            }
            let now = isLast ? disk.indexes.count - 1 : disk.steps[point].index
            tally.points += 1
            let extents = Remains.Extent.allCases + Array(repeating: .any, count: mixtures - 1)
            for extent in extents {
                let seed = random.next()
                let remains = Remains(
                    device, extent: extent, seed: seed, saved: saved, now: disk.indexes[now],
                    inOrder: scenario.trustsJournal)
                tally.states += 1
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
                        + "(\(after)), left \(extent), seed \(seed): \($0)"
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
    func runTwice(every stride: Int = 1) throws -> Tally {
        let directory = TemporaryDirectory(inMemory: true)
        let place = try Self.prepared(scenario, in: directory)
        let recording = try record(place)
        var tally = Tally()
        var device = recording.disk.beginning
        var saved = recording.disk.indexes.first
        var seen: Set<Int> = []
        for (point, step) in recording.disk.steps.enumerated() {
            device.apply(step.change)
            if step.savesIndex { saved = recording.disk.indexes[step.index] }
            guard point % stride == 0, !device.pending.isEmpty else { continue }
            let next = point + 1
            let now =
                next < recording.disk.steps.count
                ? recording.disk.steps[next].index : recording.disk.indexes.count - 1
            let killed = Remains(
                device, extent: .all, seed: 0, saved: saved, now: recording.disk.indexes[now])
            guard seen.insert(killed.signature).inserted else { continue }
            tally.points += 1
            tally.problems += try goOn(
                killed, device, saved, recording, place, directory, &tally
            ).map { "\(scenario.testDescription), killed after \(next) (\(step.text)): \($0)" }
        }
        return tally
    }

    private func goOn(
        _ killed: Remains, _ device: Device, _ saved: RecordingDisk.IndexFiles?,
        _ first: Recording, _ place: Place, _ directory: TemporaryDirectory, _ tally: inout Tally
    ) throws -> [String] {
        let here = place.moved(to: directory.appending("killed"))
        defer { Damage.remove(here.root) }
        let (restored, nodes) = try killed.build(at: here.root)
        let disk = RecordingDisk(here.root, resuming: device, on: restored, nodes: nodes)
        do { try scenario.run(here, fault?(disk) ?? disk, true) } catch let error as StoreError {
            // It says that it is done: that, too, is a promise.
            guard scenario.isDone.contains(error.code) else { return ["\(error)"] }
            if scenario.promisesNothingTwice { return [] }
        }
        disk.lookAtIndex()
        guard let files = disk.indexes.last else { return [] }
        var problems: [String] = []
        let last = disk.steps.lastIndex { $0.savesIndex }
        let durable = last.map { disk.indexes[disk.steps[$0].index] } ?? saved
        for extent in [Remains.Extent.none, .any] {
            let cut = Remains(
                disk.now, extent: extent, seed: UInt64(tally.states), saved: durable, now: files)
            tally.states += 1
            let there = place.moved(to: directory.appending("cut"))
            defer { Damage.remove(there.root) }
            let (disk, _) = try cut.build(at: there.root)
            problems += PromiseCheck(
                scenario: scenario, before: first.before, after: first.after,
                isAcknowledged: true
            ).problems(at: there, on: disk, tryingWithoutIndex: false)
        }
        return problems
    }
}
