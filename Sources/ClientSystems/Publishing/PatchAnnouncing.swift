import Bsdiff
import CASStore
import HotPush
import Origin
package import Platform
import Synchronization
import VersionTree

/// Makes the patches by which Expo's and hot-updater's clients come to a release from older ones.
///
/// They only save bytes: if one cannot be made, the release is offered without it, with a notice. Each is made once,
/// however many races are lost. Belongs to one command.
package final class PatchAnnouncing: Sendable {
    /// From how many of the older releases on offer patches lead to the newest.
    static let baseCountMax = 5
    /// The files that are patched, in bytes: below, a patch saves too little; above, making it takes too much memory.
    static let byteCounts: ClosedRange<Int64> = 4 << 10...32 << 20
    /// The bytes of all patches that a command makes, which are in memory until it has committed.
    static let memoryMax: Int64 = 64 << 20
    /// The bytes of old and new files between which a command looks for patches: seconds of work for each 10 MiB.
    static let searchedByteCountMax: Int64 = 192 << 20

    /// The bundles that apps were shipped with, which only the operator knows.
    private let shipped: [ShippedScript]
    /// What was made; empty for what is too large to be of use.
    private let made = Mutex<[PatchWork: [BsdiffFormat: [UInt8]]]>([:])
    private let announced = Mutex<[ObjectID: Int64]>([:])

    /// The bytes of the patches that were made, by their addresses.
    package var writtenByteCounts: [ObjectID: Int64] { announced.withLock { $0 } }

    package init(from shipped: [ShippedScript] = []) { self.shipped = shipped }

    /// Makes what the newest release of a channel lacks, and what others have lost.
    /// - Throws: `.interrupted`; what reading and writing throws.
    func announce(
        _ pointer: ChannelPointer, _ configurations: [ClientConfiguration], _ clients: ClientLog
    ) throws(StoreError) {
        let before = try clients.patches(of: pointer.channel)
        var after = before
        for (position, target) in pointer.releases.enumerated() {
            guard let content = target.version?.content else { continue }
            let known = after.releases.last { $0.content == content }
            var lost: [ObjectID: Int64] = [:]
            var release = known ?? PatchedRelease(createdAt: 0, content: content)
            for patch in release.patches where try !clients.has(patch) {
                lost[patch.address] = patch.epoch
                release.tried.remove(patch.trial)
            }
            guard position == 0 || !lost.isEmpty else { continue }
            var plan = PatchPlan()
            for configuration in configurations where configuration.announces(of: pointer.channel) {
                try plan.add(configuration, pointer, position, shipped, clients)
            }
            guard try complete(&release, plan, lost, clients), release != known else { continue }
            after.releases.removeAll { $0.content == content }
            after.append(release, in: pointer)
        }
        guard after != before else { return }
        after.fit(after: before)
        clients.set(after.file)
    }

    /// - Parameter lost: the epochs of patches that are missing or damaged, which are written again in their places.
    /// - Returns: `false` if nothing was to be made, or nothing can be.
    private func complete(
        _ release: inout PatchedRelease, _ plan: PatchPlan, _ lost: [ObjectID: Int64],
        _ clients: ClientLog
    ) throws(StoreError) -> Bool {
        let wanted = plan.wanted.filter {
            !release.tried.contains($0.trial)
        }
        guard !wanted.isEmpty || !lost.isEmpty || !plan.tried.isSubset(of: release.tried) else {
            return false
        }
        if !wanted.isEmpty, let problem = BsdiffPatch.problem {
            clients.notice("no patches are made for the clients of other systems: \(problem)")
            return false
        }
        let tried = release.tried
        release.patches.removeAll { !tried.contains($0.trial) || plan.isReplaced($0) }
        // What failed is tried again by the next publish.
        let untried = try make(wanted, plan, lost, &release, clients)
        release.tried.formUnion(plan.tried.subtracting(untried))
        return true
    }

    /// - Returns: what could not be tried.
    private func make(
        _ wanted: [WantedPatch], _ plan: PatchPlan, _ lost: [ObjectID: Int64],
        _ release: inout PatchedRelease, _ clients: ClientLog
    ) throws(StoreError) -> Set<String> {
        let progress = PatchProgress(wanted, clients)
        var byteCount = release.patches.reduce(0) { $0 + $1.byteCount }
        var untried: Set<String> = []
        for (base, patches) in plan.ordered(wanted) {
            do throws(StoreError) {
                try makePatches(from: base, patches, plan, progress)
            } catch {
                guard error.code != .interrupted else { throw error }
                clients.notice("no patches lead from object \(base): \(error.message)")
                progress.advance(patches)
                untried.formUnion(patches.map(\.trial))
                continue
            }
            for patch in patches where release.patches.count < PatchedRelease.patchCountMax {
                guard let bytes = made.withLock({ $0[patch.work]?[patch.format] }) else {
                    untried.insert(patch.trial)
                    continue
                }
                guard !bytes.isEmpty, Int64(bytes.count) <= patch.byteCountMax,
                    byteCount + Int64(bytes.count) <= Self.memoryMax
                else { continue }
                byteCount += Int64(bytes.count)
                let address = try ObjectID(of: bytes)
                let epoch = try clients.write(
                    document: bytes, address, of: ClientPatches.system, in: lost[address])
                announced.withLock { $0[address] = Int64(bytes.count) }
                release.patches.append(
                    ClientPatch(
                        format: patch.format, from: patch.from, platform: patch.platform,
                        base: base, object: patch.work.object, address: address,
                        byteCount: Int64(bytes.count), epoch: epoch))
            }
        }
        return untried
    }

    /// Keeps patches as long as there is memory for them; the next publish makes the others.
    private func keep(_ patches: [BsdiffFormat: [UInt8]], of work: PatchWork) {
        made.withLock { made in
            var byteCount = made.values.reduce(0) { sum, patches in
                patches.values.reduce(sum) { $0 + Int64($1.count) }
            }
            for (format, patch) in patches where byteCount + Int64(patch.count) <= Self.memoryMax {
                byteCount += Int64(patch.count)
                made[work, default: [:]][format] = patch
            }
        }
    }

    /// Makes the patches from one file that were not made yet.
    private func makePatches(
        from base: ObjectID, _ patches: [WantedPatch], _ plan: PatchPlan,
        _ progress: PatchProgress
    ) throws(StoreError) {
        let lacking = patches.filter { patch in
            made.withLock { $0[patch.work]?[patch.format] == nil }
        }
        guard !lacking.isEmpty else { return progress.advance(patches) }
        let old = try plan.bytes(of: base)
        try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            let making = try PatchMaking(from: old, progress.isInterrupted)
            var (done, works): (Set<PatchWork>, [PatchWork]) = ([], [])
            for patch in lacking where done.insert(patch.work).inserted { works.append(patch.work) }
            for work in works {
                let own = lacking.filter { $0.work == work }
                let new = try plan.bytes(of: work.object)
                let limit = own.map(\.byteCountMax).max() ?? 0
                let results = try new.span.bytes.withUnsafeBytes { (new) throws(StoreError) in
                    try making.patches(to: new, Set(own.map(\.format)), limit: Int(limit))
                }
                // What is too large is only remembered.
                keep(results.mapValues { Int64($0.count) <= limit ? $0 : [] }, of: work)
                progress.advance(own)
            }
        }
    }
}

/// A bundle that an app was shipped with, and the id of its update.
package struct ShippedScript: Sendable, Hashable {
    /// `ios` or `android`.
    package var platform: String
    /// A lower-case UUID.
    package var id: String
    package var bytes: [UInt8]
    let address: ObjectID

    /// - Throws: `.unsuitableRelease` if the platform or the id is none, or the bundle is too large.
    package init(platform: String, id: String, bytes: [UInt8]) throws(StoreError) {
        let id = id.lowercased()
        guard ExpoExport.platforms.contains(platform), ExpoPatch.isID(id),
            PatchAnnouncing.byteCounts.contains(Int64(bytes.count))
        else {
            throw StoreError(
                .unsuitableRelease,
                "a bundle that an app was shipped with has a platform (ios, android), a UUID, and 4 KiB to 32 MiB"
            )
        }
        (self.platform, self.id, self.bytes) = (platform, id, bytes)
        address = try ObjectID(of: bytes)
    }

    /// Reads the bundle from a file.
    /// - Throws: as ``init(platform:id:bytes:)``; what reading throws.
    package init(
        platform: String, id: String, file path: String,
        _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        try self.init(
            platform: platform, id: id,
            bytes: fileSystem.contents(
                POSIXFileSystem.workingDirectory, path,
                limit: Int(PatchAnnouncing.byteCounts.upperBound)))
    }
}

/// What a patch is made of.
struct PatchWork: Sendable, Hashable {
    var base: ObjectID
    var object: ObjectID
}

/// A patch that clients could use, if it is small enough.
struct WantedPatch: Sendable, Hashable {
    var format: BsdiffFormat
    var work: PatchWork
    var from: String
    var platform = ""
    /// Of the file that comes out.
    var byteCount: Int64
    /// Half of what a client fetches otherwise, compressed.
    var byteCountMax: Int64

    var trial: String {
        PatchedRelease.trial(format, from, platform: platform, base: work.base)
    }
}

/// The patches that lead to a release from those below it, decided before one is made.
private struct PatchPlan {
    private(set) var wanted: [WantedPatch] = []
    /// What counts as tried when all are made.
    private(set) var tried: Set<String> = []
    private var shipped: [ObjectID: [UInt8]] = [:]
    private var searched: Set<PatchWork> = []
    private var searchedByteCount: Int64 = 0
    /// What reads an object of a release.
    private var sources: [ObjectID: ClientRelease] = [:]

    mutating func add(
        _ configuration: ClientConfiguration, _ pointer: ChannelPointer, _ position: Int,
        _ bundles: [ShippedScript], _ clients: ClientLog
    ) throws(StoreError) {
        let system = configuration.system
        guard ClientPatches.isFor(system) else { return }
        let newest = pointer.releases[position]
        // Clients know only what they were offered.
        let offered = Set(
            try clients.history(of: pointer.channel, system).offers.map(\.sequence))
        func release(_ release: ChannelRelease) throws(StoreError) -> ClientRelease? {
            guard offered.contains(release.sequence), release.version != nil else { return nil }
            return try ClientRelease.published(
                release, now: pointer.createdAt, for: configuration, in: clients)
        }
        guard let target = try release(newest) else { return }
        var seen = Set([newest.version?.content].compactMap(\.self))
        var bases: [(ClientRelease, ObjectID)] = []
        for older in pointer.releases.dropFirst(position + 1)
        where bases.count < PatchAnnouncing.baseCountMax {
            guard let content = older.version?.content, seen.insert(content).inserted,
                let base = try release(older)
            else { continue }
            bases.append((base, content))
        }
        switch system {
        case .expo: try addExpo(bases, target, bundles)
        default: try addHotUpdater(bases, target)
        }
    }

    private mutating func addExpo(
        _ bases: [(ClientRelease, ObjectID)], _ target: ClientRelease, _ bundles: [ShippedScript]
    ) throws(StoreError) {
        guard let content = target.content else { return }
        let programs = try ExpoExport(target, content).programs
        for (release, from) in bases {
            tried.insert(PatchedRelease.trial(.bsdiff40, from.description))
            guard let files = release.content else { continue }
            // A release that was published for others alone is no base.
            let export = try allowing(
                [.unsuitableRelease, .damagedOrigin], try ExpoExport(release, files))
            for old in export?.programs ?? [] {
                let new = programs.first {
                    $0.platform == old.platform
                        && $0.runtimeVersion.utf8.elementsEqual(old.runtimeVersion.utf8)
                }
                guard let new else { continue }
                want(
                    .bsdiff40, old.files[0].entry, new.files[0].entry, from.description,
                    old.platform, release, target)
            }
        }
        for bundle in bundles {
            tried.insert(
                PatchedRelease.trial(
                    .bsdiff40, bundle.id, platform: bundle.platform, base: bundle.address))
            shipped[bundle.address] = bundle.bytes
            for new in programs where new.platform == bundle.platform {
                let work = PatchWork(base: bundle.address, object: new.files[0].entry.address)
                want(.bsdiff40, work, new.files[0].entry, bundle.id, bundle.platform, target)
            }
        }
    }

    private mutating func addHotUpdater(
        _ bases: [(ClientRelease, ObjectID)], _ target: ClientRelease
    ) throws(StoreError) {
        guard let content = target.content else { return }
        let package = HotUpdaterPackage(content: content, manifest: [])
        for (release, from) in bases {
            tried.insert(PatchedRelease.trial(.bsdiff43, from.description))
            guard let files = release.content else { continue }
            let changes = package.changes(from: files).sorted {
                $0.entry.byteCount > $1.entry.byteCount
            }
            for change in changes {
                guard let old = files.manifest[change.entry.path] else { continue }
                want(.bsdiff43, old, change.entry, from.description, "", release, target)
            }
        }
    }

    /// Whether there is time to look for patches between two files; each pair counts once.
    private mutating func takes(_ work: PatchWork, _ byteCount: Int64) -> Bool {
        if searched.contains(work) { return true }
        let more = 2 * byteCount
        guard searchedByteCount + more <= PatchAnnouncing.searchedByteCountMax else { return false }
        searchedByteCount += more
        searched.insert(work)
        return true
    }

    private mutating func want(
        _ format: BsdiffFormat, _ old: Manifest.Entry, _ new: Manifest.Entry, _ from: String,
        _ platform: String, _ release: ClientRelease, _ target: ClientRelease
    ) {
        guard PatchAnnouncing.byteCounts.contains(old.byteCount) else { return }
        sources[old.address] = release
        let work = PatchWork(base: old.address, object: new.address)
        want(format, work, new, from, platform, target)
    }

    private mutating func want(
        _ format: BsdiffFormat, _ work: PatchWork, _ new: Manifest.Entry, _ from: String,
        _ platform: String, _ target: ClientRelease
    ) {
        guard work.base != work.object, PatchAnnouncing.byteCounts.contains(new.byteCount),
            wanted.count < 4 * PatchedRelease.patchCountMax
        else { return }
        sources[new.address] = target
        let whole = target.content?.facts[new.address]?.deflatedCopy?.byteCount ?? new.byteCount
        // What does not shrink, such as pictures and video, shares nothing with what was before.
        guard whole < new.byteCount / 10 * 9, takes(work, new.byteCount) else { return }
        wanted.append(
            WantedPatch(
                format: format, work: work, from: from, platform: platform,
                byteCount: new.byteCount,
                byteCountMax: min(whole / 2, ClientPatch.byteCountMax)))
    }

    /// Whether a patch leads from another bundle than the operator names for its id now.
    func isReplaced(_ patch: ClientPatch) -> Bool {
        wanted.contains {
            shipped[$0.work.base] != nil && $0.from == patch.from && $0.platform == patch.platform
                && $0.work.base != patch.base
        }
    }

    /// The wanted patches by their bases, so that each base is sorted once; in the order of the plan.
    func ordered(_ wanted: [WantedPatch]) -> [(base: ObjectID, patches: [WantedPatch])] {
        var ordered: [(base: ObjectID, patches: [WantedPatch])] = []
        var positions: [ObjectID: Int] = [:]
        for patch in wanted {
            if let position = positions[patch.work.base] {
                ordered[position].patches.append(patch)
            } else {
                positions[patch.work.base] = ordered.count
                ordered.append((patch.work.base, [patch]))
            }
        }
        return ordered
    }

    /// The bytes of a file, compared with their address.
    func bytes(of address: ObjectID) throws(StoreError) -> [UInt8] {
        if let bytes = shipped[address] { return bytes }
        guard let release = sources[address] else {
            throw .damagedOrigin("no release has a file to patch", object: address)
        }
        return try release.read(address)
    }
}

private struct PatchProgress {
    let isInterrupted: @Sendable () -> Bool
    private let report: @Sendable (Int64, Int64) -> Void
    private let total: Int64
    private let done = Done()

    private final class Done: Sendable {
        let byteCount = Mutex<Int64>(0)
    }

    init(_ wanted: [WantedPatch], _ clients: ClientLog) {
        isInterrupted = clients.isInterrupted
        report = clients.patched
        total = wanted.reduce(0) { $0.addingClamped($1.byteCount) }
        advance([])
    }

    func advance(_ patches: [WantedPatch]) {
        let sum = done.byteCount.withLock { sum in
            for patch in patches { sum = min(sum.addingClamped(patch.byteCount), total) }
            return sum
        }
        guard total > 0 else { return }
        report(sum, total)
    }
}

// How patches follow their channel.

extension ClientPatches {
    /// Adds a release as the newest.
    mutating func append(_ release: PatchedRelease, in pointer: ChannelPointer) {
        var release = release
        let last = releases.map(\.createdAt).max() ?? -1
        release.createdAt = max(min(pointer.createdAt, SequenceBound.timeMax) * 1000, last + 1)
        releases.append(release)
    }

    /// Drops what no client can use any more: patches to, or from, releases that are no longer on offer.
    /// - Returns: whether anything was dropped.
    mutating func trim(to pointer: ChannelPointer) -> Bool {
        let listed = Set(pointer.releases.compactMap(\.version?.content))
        let names = Set(listed.map(\.description))
        let before = releases
        var changed: [PatchedRelease] = []
        releases = []
        for var release in before where listed.contains(release.content) {
            // A bundle that was shipped with an app is on no offer.
            func isOver(_ from: String) -> Bool { !names.contains(from) && ObjectID(from) != nil }
            let old = release
            release.patches.removeAll { isOver($0.from) }
            release.tried = release.tried.filter { trial in
                !isOver(trial.split(separator: " ").last.map(String.init) ?? "")
            }
            if release == old {
                releases.append(release)
            } else {
                // A row of the log is never changed: another takes its place, at the end.
                changed.append(release)
            }
        }
        for release in changed { append(release, in: pointer) }
        return releases != before
    }

    /// The bytes of rows that an entry of the log has space for, beside what it must say.
    private static let rowsByteCountMax = 256 << 10

    /// Leaves out patches to older releases, as many as make an entry of the log too large.
    /// - Parameter before: what stands in the log.
    mutating func fit(after before: ClientPatches) {
        var byteCount = 0
        for position in releases.indices.reversed()
        where !before.releases.contains(releases[position]) {
            let own = releases[position].byteCount
            if byteCount + own > Self.rowsByteCountMax {
                releases[position].patches = []
            }
            byteCount += releases[position].byteCount
        }
    }
}

extension ClientLog {
    func patches(of channel: ChannelName) throws(StoreError) -> ClientPatches {
        try history(ClientPatches.name(of: channel)) { (file) throws(StoreError) in
            ClientPatches(file)
        } ?? ClientPatches(channel)
    }

    fileprivate func has(_ patch: ClientPatch) throws(StoreError) -> Bool {
        try has(
            document: patch.address, patch.byteCount, of: ClientPatches.system, in: patch.epoch)
    }
}
