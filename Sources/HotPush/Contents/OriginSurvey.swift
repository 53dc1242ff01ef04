import CASStore
import Storage
import VersionTree

/// What stands in an origin, and which of it releases on offer have.
///
/// A listing is a hint: what it does not show stays, which is all that a prune needs. Belongs to one thread.
final class OriginSurvey {
    private let storage: any ObjectStorage
    let log: OriginLog
    /// Whether a release must have all that it names, also what can be made again.
    private let isStrict: Bool
    /// The files that never change, and their sizes.
    private(set) var table = KeyTable()
    /// What was left by looking what the store can do.
    private(set) var scratch: [(path: String, byteCount: Int64)] = []
    /// How much that is.
    private(set) var scratchFigures = FileFigures()
    /// Pointers and all else that is overwritten.
    private(set) var pointers = FileFigures()
    /// What says whose signatures count: only where keys were rotated.
    private(set) var trust = FileFigures()
    /// The files of pointers.
    private(set) var pointerFiles: [String] = []
    /// What the clients of other systems are told, but for documents, facts and twins.
    private(set) var clientFiles: [String] = []
    /// Files that are not castree's.
    private(set) var strays = StrayKeys()
    /// A file of another origin, which stands where this one has an epoch; its files look like this one's.
    private(set) var inner: String?
    /// What a release's files are never changes: no state of the log makes it necessary to read a manifest again.
    private var numbers: [AnyHashable: Int] = [:]
    /// What these are numbers of.
    private var lists = ReleaseLists()
    /// What pointers offer that devices read, and the log's newest do not.
    private(set) var copied: Set<LiveRelease> = []

    /// - Parameter isStrict: whether a release must have all that it names, also what can be made again.
    init(_ storage: any ObjectStorage, _ log: OriginLog, isStrict: Bool = false) {
        self.storage = storage
        self.isStrict = isStrict
        self.log = log
    }

    /// Lists everything but the log.
    /// - Parameter listed: gets the number of keys so far.
    func run(_ listed: (Int) -> Void = { _ in }) throws(StoreError) -> OriginSurvey {
        // Keys come in the order of their bytes: what is before the log, and what is after it.
        let spans = [
            KeySpan(upTo: OriginLayout.log + "/"), KeySpan(after: OriginLayout.log + "0"),
        ]
        var count = 0
        try storage.list(spans, cutAt: Self.cuts) { (files) throws(StoreError) in
            for file in files { try note(file) }
            count += files.count
            listed(count)
        }
        table.seal()
        return self
    }

    /// Where a listing may be cut in two: at the first digits of objects, which are most of all files.
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

    /// From now on what a pointer offers counts as live, whatever the log says: devices read it.
    func hold(_ pointer: ChannelPointer?) { copied.formUnion(pointer?.liveReleases ?? []) }

    /// Holds what pointers offer that a prune leaves as they are: of channels that the log does not know, newer ones, and
    /// those that are not to be replaced.
    func holdCopies(beside state: OriginState) throws(StoreError) {
        for channel in pointerFiles.compactMap(OriginLayout.channel(ofPointer:)) {
            let copy = LogCopy.pointer(channel)
            let seen = try copy.read(from: storage)
            let isAsNew = try allowing([.damagedOrigin], try copy.isAsNew(seen, as: state, log))
            if state.pointers[channel] == nil || isAsNew != false { hold(seen.pointer) }
        }
    }

    /// The files of all releases that the entries from `keptFrom` to that of the state offer, and of those that are held.
    /// - Throws: `.damagedOrigin` if the manifest of one that is still offered cannot be read.
    func live(keptFrom: Int64, upTo state: OriginState) throws(StoreError) -> KeySet {
        var live = KeySet(of: table)
        var numbers: Set<Int> = []
        let offered = Set(state.pointers.values.flatMap(\.liveReleases))
        for release in try log.liveReleases(keptFrom: keptFrom, upTo: state) + copied {
            do throws(StoreError) {
                numbers.formUnion(try self.numbers(of: release))
            } catch {
                // What is offered no more, and cannot be read, nobody can use.
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

    /// The documents that histories have named since an entry; none of a system of which a listing has shown no document.
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

    /// Where the table has the files of a release, each once: what it is without packs, its packs, and its facts with their
    /// twins.
    /// - Throws: as ``live(keptFrom:upTo:)``.
    func positions(of release: LiveRelease) throws(StoreError) -> Set<KeyTable.Position> {
        var all: Set<KeyTable.Position> = []
        for number in try numbers(of: release) { all.formUnion(lists.positions(number)) }
        return all
    }

    /// The numbers of its lists.
    private func numbers(of release: LiveRelease) throws(StoreError) -> [Int] {
        let files = ReleaseFiles(release, storage, nil)
        var all = [
            try number(of: release.version) { () throws(StoreError) in try files.contents() }
        ]
        if let delivery = release.delivery {
            all.append(
                try number(of: delivery, derived: [.pack, .delivery]) { () throws(StoreError) in
                    try files.packed()
                })
        }
        if let facts = release.facts {
            all.append(
                try number(of: facts, derived: [.twin, .facts, .places]) {
                    () throws(StoreError) in try files.told()
                })
        }
        return all
    }

    /// The number of the list of files that something names.
    /// - Parameter kinds: what these are, if they are derived: one that is lost keeps nobody from pruning, and all of its kind
    ///   stay until it is known again which of them are needed.
    private func number(
        of name: some Hashable, derived kinds: Set<OriginKey.Kind> = [],
        _ files: () throws(StoreError) -> [PlacedFile]
    ) throws(StoreError) -> Int {
        if let known = numbers[name] { return known }
        let list: ListedFiles
        do throws(StoreError) {
            list = ListedFiles(try files().map(\.key), in: table)
        } catch {
            guard !kinds.isEmpty, !isStrict, ReleaseFiles.saysReleaseIsBad(error) else {
                throw error
            }
            log.notice("\(error.message); until then nothing of its kind is deleted")
            let all = table.positions.lazy.map { self.table[$0].key }
            list = ListedFiles(all.filter { kinds.contains($0.kind) }, in: table)
        }
        let number = lists.add(list)
        numbers[name] = number
        return number
    }

    /// The files that are not needed, one after the other.
    func unneeded(beside needed: KeySet) -> some Sequence<SizedKey> {
        let listed = table.positions.lazy.filter { !needed.contains($0) }.map { self.table[$0] }
        let others = table.others.lazy.filter { !needed.contains($0.key, in: self.table) }
            .map { SizedKey(key: $0.key, byteCount: $0.value) }
        return [AnySequence(listed), AnySequence(others)].joined()
    }

    /// The files that nobody needs: what every pruner may delete now, and what waits for a later prune.
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
