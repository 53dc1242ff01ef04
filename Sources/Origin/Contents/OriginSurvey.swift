import CASStore
package import HotPush
import Storage
import VersionTree

/// The files of an origin, and which of them offered releases use.
///
/// A listing is a hint: a file that it does not show is kept, which is all that a prune needs. Belongs to one thread.
final class OriginSurvey {
    private let storage: any ObjectStorage
    let log: OriginLog
    private let isStrict: Bool
    private(set) var table = KeyTable()
    private(set) var scratch: [(path: String, byteCount: Int64)] = []
    private(set) var scratchFigures = FileFigures()
    /// Pointers and everything else that is overwritten.
    private(set) var pointers = FileFigures()
    private(set) var trust = FileFigures()
    private(set) var pointerFiles: [String] = []
    /// The files for other systems' clients, except documents, facts and deflated copies.
    private(set) var clientFiles: [String] = []
    private(set) var strays = StrayKeys()
    /// A file of another origin inside one of this origin's epochs, where its files look like this one's.
    private(set) var inner: String?
    /// The lists' numbers: a release's files never change, so each manifest is read once whatever happens to the log.
    private var numbers: [AnyHashable: Int] = [:]
    private var lists = ReleaseLists()
    /// The numbers of the lists of all files of some kinds.
    private var wholes: [Set<OriginKey.Kind>: Int] = [:]
    /// Releases that devices' copies of the pointers offer and the log's newest do not.
    private(set) var copied: Set<LiveRelease> = []

    init(_ storage: any ObjectStorage, _ log: OriginLog, isStrict: Bool = false) {
        self.storage = storage
        self.isStrict = isStrict
        self.log = log
    }

    func run(_ listed: (Int) -> Void = { _ in }) throws(StoreError) -> OriginSurvey {
        // Keys come in byte order: those before the log, and those after it.
        let spans = [
            KeySpan(upTo: OriginLayout.log + "/"), KeySpan(after: OriginLayout.log + "0"),
        ]
        var count = 0
        try storage.list(spans, cutAt: Self.cuts) { (files) throws(StoreError) in
            for file in files { try note(file) }
            count += files.count
            listed(count)
        }
        table.sort()
        return self
    }

    /// Where to split a listing: at the first digits of objects, which most files are.
    private static func cuts(after key: String) -> [String] {
        let epoch = OriginLayout.epoch(of: key)?.epoch ?? 0
        return Set([0, epoch]).flatMap { epoch in
            (0..<16).map { OriginKey.prefix(of: .object, in: epoch) + String($0, radix: 16) }
        }
    }

    private func note(_ file: ListedFile) throws(StoreError) {
        if let key = OriginKey(path: file.key) {
            try table.add(key, file.byteCount)
        } else if OriginLayout.isProbe(file.key) {
            scratch.append((file.key, file.byteCount))
            scratchFigures.add(file.byteCount)
        } else if [OriginLayout.marker, OriginLayout.channelList].contains(file.key) {
            pointers.add(file.byteCount)
        } else if OriginLayout.isTrust(file.key) {
            trust.add(file.byteCount)
        } else if OriginLayout.channel(ofPointer: file.key) != nil {
            pointers.add(file.byteCount)
            pointerFiles.append(file.key)
        } else if LogCopy(path: file.key) != nil {
            pointers.add(file.byteCount)
            clientFiles.append(file.key)
        } else {
            strays.add(file.key, file.byteCount)
            if OriginLayout.isOfInnerOrigin(file.key) { inner = file.key }
        }
    }

    /// Counts what a pointer offers as live from now on, whatever the log says, because devices read it.
    func hold(_ pointer: ChannelPointer?) { copied.formUnion(pointer?.liveReleases ?? []) }

    /// Holds the offers of pointers that a prune leaves alone: those of channels that the log does not know, newer ones,
    /// and those that must not be replaced.
    func holdCopies(beside state: OriginState) throws(StoreError) {
        for channel in pointerFiles.compactMap(OriginLayout.channel(ofPointer:)) {
            let copy = LogCopy.pointer(channel)
            let seen = try copy.read(from: storage)
            let isAsNew = try allowing([.damagedOrigin], try copy.isAsNew(seen, as: state, log))
            if state.pointers[channel] == nil || isAsNew != false { hold(seen.pointer) }
        }
    }

    /// The files of all releases that the entries from `keptFrom` to the state's offer, and of those that are held.
    /// - Throws: `.damagedOrigin` if the manifest of a release that is still offered cannot be read, unless keys can tell
    ///   that somebody else offers it: then it may have none, and all that it may need counts as its own.
    func live(keptFrom: Int64, upTo state: OriginState) throws(StoreError) -> KeySet {
        var live = KeySet(of: table)
        var numbers: Set<Int> = []
        let offered = Set(state.pointers.values.flatMap(\.liveReleases))
        var others: Set<LiveRelease> = []
        if let trusts = log.trusts {
            others = offered
            for pointer in state.pointers.values where try trusts(pointer.signedContent) {
                others.subtract(pointer.liveReleases)
            }
        }
        for release in try log.liveReleases(keptFrom: keptFrom, upTo: state) + copied {
            do throws(StoreError) {
                let isOthers = others.contains(release)
                numbers.formUnion(try self.numbers(of: release, isOthers: isOthers))
            } catch {
                // Nobody can use a release that is withdrawn and unreadable.
                guard ReleaseFiles.saysReleaseIsBad(error), !offered.contains(release) else {
                    throw error
                }
            }
        }
        lists.insert(numbers, into: &live)
        live.insert(
            ListedFiles(try documents(keptFrom: keptFrom, upTo: state).map(\.key), in: table))
        return live
    }

    /// The documents that histories have named since an entry; none for systems of which the listing shows no document.
    private func documents(
        keptFrom: Int64, upTo state: OriginState
    ) throws(StoreError) -> Set<SizedKey> {
        let isUnlisted = table.count == 0 && table.others.isEmpty
        var systems = isUnlisted ? Set(state.entry.clients.keys) : []
        for key in table.others.keys {
            if case .document(let system) = key.kind { systems.insert(system) }
        }
        return try log.documents(of: systems, keptFrom: keptFrom, upTo: state)
    }

    /// The positions of a release's files, each once: contents, packs, and facts with their deflated copies.
    /// - Throws: as ``live(keptFrom:upTo:)``.
    func positions(of release: LiveRelease) throws(StoreError) -> Set<KeyTable.Position> {
        var all: Set<KeyTable.Position> = []
        for number in try numbers(of: release) { all.formUnion(lists.positions(number)) }
        return all
    }

    private func numbers(
        of release: LiveRelease, isOthers: Bool = false
    ) throws(StoreError) -> [Int] {
        let files = ReleaseFiles(release, storage, nil)
        let kinds: Set<OriginKey.Kind> = isOthers ? [.object, .manifest, .places] : []
        var all = [
            try number(of: release.version, keeping: kinds) { () throws(StoreError) in
                try files.contents()
            }
        ]
        if let delivery = release.delivery {
            all.append(
                try number(of: delivery, keeping: [.pack, .delivery]) { () throws(StoreError) in
                    try files.packed()
                })
        }
        if let facts = release.facts {
            all.append(
                try number(of: facts, keeping: [.deflatedCopy, .facts, .places]) {
                    () throws(StoreError) in try files.announced()
                })
        }
        return all
    }

    /// The number of the list of files that something names.
    /// - Parameter kinds: the kinds of its files, if a prune may continue without the list: it keeps all files of these
    ///   kinds until the list is known again.
    private func number(
        of name: some Hashable, keeping kinds: Set<OriginKey.Kind>,
        _ files: () throws(StoreError) -> [PlacedFile]
    ) throws(StoreError) -> Int {
        if let known = numbers[name] { return known }
        let number: Int
        do throws(StoreError) {
            number = lists.add(ListedFiles(try files().map(\.key), in: table))
        } catch {
            guard !kinds.isEmpty, !isStrict, ReleaseFiles.saysReleaseIsBad(error) else {
                throw error
            }
            // Of any number, which may be a stranger's, the first is named.
            if let whole = wholes[kinds] {
                number = whole
            } else {
                log.notice("\(error.message); until then nothing of its kind is deleted")
                let all = table.positions.lazy.map { self.table[$0].key }
                number = lists.add(ListedFiles(all.filter { kinds.contains($0.kind) }, in: table))
                wholes[kinds] = number
            }
        }
        numbers[name] = number
        return number
    }

    func unneeded(beside needed: KeySet) -> some Sequence<SizedKey> {
        let listed = table.positions.lazy.filter { !needed.contains($0) }.map { self.table[$0] }
        let others = table.others.lazy.filter { !needed.contains($0.key, in: self.table) }
            .map { SizedKey(key: $0.key, byteCount: $0.value) }
        return [AnySequence(listed), AnySequence(others)].joined()
    }

    /// The unneeded files: what any pruner may delete now, and what waits for a later prune.
    func unneededFigures(
        in entry: LogEntry, beside needed: KeySet
    ) -> (garbage: FileFigures, waiting: FileFigures) {
        var (garbage, waiting) = (scratchFigures, FileFigures())
        for file in unneeded(beside: needed) {
            if file.key.epoch <= entry.garbageEpochMax(in: storage) {
                garbage.add(file.byteCount)
            } else {
                waiting.add(file.byteCount)
            }
        }
        return (garbage, waiting)
    }
}

/// Keys below an origin that are not castree's and that nobody deletes.
package struct StrayKeys: Sendable, Hashable {
    package private(set) var figures = FileFigures()
    /// The first ones, in order; at most ``countMax``.
    package private(set) var keys: [String] = []

    /// Bounds the names kept: a bucket may hold millions of strays.
    package static let countMax = 100

    package init() {}

    mutating func add(_ key: String, _ byteCount: Int64) {
        figures.add(byteCount)
        name(key)
    }

    package static func + (left: StrayKeys, right: StrayKeys) -> StrayKeys {
        var sum = left
        sum.figures = left.figures + right.figures
        for key in right.keys { sum.name(key) }
        return sum
    }

    private mutating func name(_ key: String) {
        guard keys.count < Self.countMax else { return }
        let place = keys.firstIndex { key.utf8.lexicographicallyPrecedes($0.utf8) }
        keys.insert(key, at: place ?? keys.endIndex)
    }
}
