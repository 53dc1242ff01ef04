import CASStore
import HotPush
import Storage
import Synchronization
import VersionTree

extension OriginAudit {
    /// - Returns: all files that the releases need, and whether every document could be read.
    func checkReleases(
        _ releases: [LiveRelease], _ survey: OriginSurvey
    ) throws(StoreError) -> (NeededFiles, Bool) {
        var needed = NeededFiles(survey.table)
        var areAllRead = true
        // One version may be offered with and without packs.
        var versions: Set<PublishedVersion> = []
        var deliveries: Set<PublishedDelivery> = []
        var facts: Set<PublishedFacts> = []
        for release in releases.sorted(by: { $0.version.name < $1.version.name }) {
            try throwIfInterrupted()
            let files = ReleaseFiles(release, storage, nil) { (key) throws(StoreError) in
                try self.document(key, of: release, survey)
            }
            if versions.insert(release.version).inserted {
                try add(&needed, &areAllRead, release, files.contents)
            }
            if let delivery = release.delivery, deliveries.insert(delivery).inserted {
                try add(&needed, &areAllRead, release, files.packed)
            }
            if let published = release.facts, facts.insert(published).inserted {
                try add(&needed, &areAllRead, release) { () throws(StoreError) in
                    for object in try files.facts()?.objects ?? [] {
                        if let deflatedCopy = object.deflatedCopy {
                            owners[deflatedCopy.address] = object.address
                        }
                    }
                    return try files.announced()
                }
            }
        }
        return (needed, areAllRead)
    }

    private func add(
        _ needed: inout NeededFiles, _ areAllRead: inout Bool, _ release: LiveRelease,
        _ files: () throws(StoreError) -> [PlacedFile]
    ) throws(StoreError) {
        let version = release.version.name.description
        unread = nil
        do throws(StoreError) {
            for file in try files() {
                guard let other = needed.add(file, of: version) else { continue }
                try found(
                    .damagedRelease, file.key.path,
                    "version \(version) says that it has \(file.byteCount ?? 0) bytes, and another release "
                        + "\(other)", version: version)
            }
        } catch {
            guard ReleaseFiles.saysReleaseIsBad(error) else { throw error }
            areAllRead = false
            // An unreadable document is already a finding.
            if unread != nil { return }
            let key = OriginKey(.manifest, release.version.manifest, in: release.version.epoch)
            try found(
                .damagedRelease, key.path, "version \(version): \(error.message)", version: version)
        }
    }

    /// Compares the listing with what is needed, and asks for files that it does not show, since it is only a hint.
    func checkPresence(_ needed: NeededFiles) throws(StoreError) {
        let known = lost
        for position in needed.listed {
            let file = needed.table[position]
            if known.contains(file.key) { continue }
            report.needed.add(needed.byteCount(of: file.key) ?? file.byteCount)
        }
        let strange = needed.strange.keys.filter { !known.contains($0) }
            .sorted { $0.path < $1.path }
        var unlisted: [OriginKey] = []
        for key in strange {
            if let listed = needed.table.byteCount(of: key) {
                // The file may be there with the right size although the table holds it apart from its rows.
                if listed == needed.byteCount(of: key) {
                    report.needed.add(listed)
                } else if !mended.contains(key) {
                    noteSize(listed, of: key, needed)
                }
            } else {
                report.needed.add(needed.byteCount(of: key) ?? 0)
                if !mended.contains(key) { unlisted.append(key) }
            }
        }
        let asked = try storage.sizes(of: unlisted, unless: options.isInterrupted)
        for (key, byteCount) in zip(unlisted, asked) {
            if let byteCount {
                if byteCount != needed.byteCount(of: key) { noteSize(byteCount, of: key, needed) }
            } else {
                note(.missingFile, key, needed.version(of: key))
            }
        }
    }

    private func noteSize(_ byteCount: Int64, of key: OriginKey, _ needed: NeededFiles) {
        note(
            .damagedFile, key, needed.version(of: key),
            "it has \(byteCount) bytes, and should have \(needed.byteCount(of: key) ?? 0)")
    }

    func checkBytes(_ needed: NeededFiles) throws(StoreError) {
        let known = lost
        let sample = options.check.sample
        func isToBeRead(_ key: OriginKey) -> Bool {
            !key.kind.isRead && !known.contains(key) && sample?.contains(key.address) ?? true
        }
        // By position in the table: there may be millions.
        let listed = needed.listed.filter { isToBeRead(needed.table[$0].key) }
        let others = needed.unlisted.filter(isToBeRead)
        let count = listed.count + others.count
        @Sendable func keyToRead(_ index: Int) -> OriginKey {
            index < listed.count ? needed.table[listed[index]].key : others[index - listed.count]
        }
        let total = (0..<count).reduce(Int64(0)) {
            $0.addingClamped(needed.byteCount(of: keyToRead($1)) ?? 0)
        }
        options.willRead(count, total)
        let reading = DeepReading(storage, options, total: total)
        let bad = Mutex<[OriginKey: OriginFinding.Kind]>([:])
        try storage.inParallel(count) { (index) throws(StoreError) in
            let key = keyToRead(index)
            guard let kind = try reading.problem(with: key, needed.byteCount(of: key) ?? 0) else {
                return
            }
            bad.withLock { $0[key] = kind }
        }
        report.read.count += count
        report.read.byteCount = report.read.byteCount.addingClamped(total)
        for (key, kind) in bad.withLock({ $0 }).sorted(by: { $0.key.path < $1.key.path }) {
            note(kind, key, needed.version(of: key))
        }
    }

    func note(
        _ kind: OriginFinding.Kind, _ key: OriginKey, _ version: String?,
        _ problem: String = "its bytes are not what its name says"
    ) {
        let isAbsent = kind == .missingFile
        let (kind, problem) = isAbsent ? missing(of: key.path) : (kind, problem)
        let needing = version.map { "version \($0) needs it, and " } ?? ""
        var finding = OriginFinding(kind, key.path, needing + problem, version: version)
        finding.lost = key
        report.findings.append(finding)
    }

    /// Drops findings about files that no release needs after a concurrent prune.
    /// - Returns: whether there is anything to repair.
    func areStillNeeded(
        after state: OriginState, _ survey: OriginSurvey
    ) throws(StoreError) -> Bool {
        guard !lost.isEmpty else { return false }
        let live: KeySet
        do throws(StoreError) {
            guard let now = try log.state(from: state.number),
                now.entry.keptFrom != state.entry.keptFrom
            else { return true }
            live = try survey.live(keptFrom: now.entry.keptFrom, upTo: now)
        } catch {
            // The damaged file belongs to a release, so it is needed.
            guard ReleaseFiles.saysReleaseIsBad(error) else { throw error }
            return true
        }
        report.findings.removeAll { finding in
            finding.lost.map { !live.contains($0, in: survey.table) } ?? false
        }
        return !lost.isEmpty
    }
}

/// Reads whole files at a limited rate and compares them with their names.
private final class DeepReading: Sendable {
    private let storage: any ObjectStorage
    private let options: OriginAuditOptions
    private let total: Int64
    private let done = Mutex(Int64(0))
    private let pace: ReadPace

    init(_ storage: any ObjectStorage, _ options: OriginAuditOptions, total: Int64) {
        self.storage = storage
        self.options = options
        self.total = total
        pace = ReadPace(byteRate: options.check.byteRateMax) { () throws(StoreError) in
            if options.isInterrupted() { throw .interruption }
        }
    }

    /// - Returns: `nil` if the bytes match the name.
    func problem(
        with key: OriginKey, _ byteCount: Int64
    ) throws(StoreError) -> OriginFinding.Kind? {
        do throws(StoreError) {
            let found = try storage.address(of: key.path, limit: byteCount) {
                (bytes) throws(StoreError) in
                if options.isInterrupted() { throw .interruption }
                try take(bytes.count)
            }
            return found == key.address ? nil : found == nil ? .missingFile : .damagedFile
        } catch {
            guard error.code == .tooLarge else { throw error }
            return .damagedFile
        }
    }

    private func take(_ count: Int) throws(StoreError) {
        let sum = done.withLock { (done) -> Int64 in
            done += Int64(count)
            return done
        }
        options.progress(sum, total)
        try pace.spend(count)
    }
}

extension OriginAudit {
    /// Reads a document; a repair mends it immediately, so that the files it names are checked as well.
    /// - Throws: `.damagedOrigin` for an unreadable document, after the finding is noted; what reading throws.
    func document(
        _ key: OriginKey, of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8] {
        var kind = OriginFinding.Kind.damagedFile
        do throws(StoreError) {
            if let bytes = try storage.contents(key.path, limit: key.byteCountMax) {
                if try ObjectID(of: bytes) == key.address {
                    report.read.add(Int64(bytes.count))
                    return bytes
                }
            } else {
                kind = .missingFile
            }
        } catch {
            guard error.code == .tooLarge else { throw error }
        }
        var bytes: [UInt8]?
        // Two releases may share a document.
        if !lost.contains(key) {
            let place = report.findings.count
            note(kind, key, release.version.name.description)
            try mend(place) { () throws(StoreError) in
                bytes = try spare(key, of: release, survey)
                return try bytes.map { (bytes) throws(StoreError) in
                    let body = StorageBody(bytes, address: key.address)
                    return try storage.put(key.path, body, .document).isStored
                } ?? false
            }
            // Even if it could not be written, the files that it names can be.
            if bytes != nil {
                report.findings[place].lost = nil
                mended.insert(key)
            }
        }
        if let bytes { return bytes }
        unread = key
        throw .damagedOrigin("\(key.path) cannot be read")
    }

    private func spare(
        _ key: OriginKey, of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8]? {
        guard let mender else { return nil }
        var (bytes, size): ([UInt8]?, Int64?)
        switch key.kind {
        case .manifest:
            bytes = try mender.manifest(release.version)
            size = release.version.manifestByteCount
        case .places: bytes = try places(of: release, survey)
        case .delivery: size = release.delivery?.byteCount
        case .object, .pack, .deflatedCopy, .facts, .document, .delta: break
        }
        if bytes == nil, let size {
            try mender.fetch([SizedKey(key: key, byteCount: size)])
            bytes = try mender.bytes(of: key)
        }
        // Only a copy of the origin has documents of unknown size.
        if bytes == nil { bytes = try mender.reading(key.path, Int(key.byteCountMax)) }
        guard let bytes, try ObjectID(of: bytes) == key.address else { return nil }
        return bytes
    }

    /// Rebuilds a places document from where the objects are; `nil` unless the bytes have the right name.
    private func places(
        of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8]? {
        var epochs: [ObjectID: [Int64]] = [:]
        let addresses = try ReleaseFiles(release, storage, nil).manifest().references.map(\.address)
        let needed = Set(addresses)
        for position in survey.table.positions {
            let key = survey.table[position].key
            guard key.kind == .object, key.epoch <= release.version.epoch,
                needed.contains(key.address)
            else { continue }
            epochs[key.address, default: []].append(key.epoch)
        }
        let wanted = release.version.places
        // If an object is in several epochs, releases before the last prune use the older one.
        for isNewest in [true, false] {
            let chosen = addresses.compactMap { address in
                isNewest ? epochs[address]?.max() : epochs[address]?.min()
            }
            guard chosen.count == addresses.count else { return nil }
            let bytes = Places(chosen).serialized()
            if try ObjectID(of: bytes) == wanted { return bytes }
        }
        return nil
    }
}
