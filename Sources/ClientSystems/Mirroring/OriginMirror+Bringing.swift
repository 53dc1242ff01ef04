package import CASStore
package import HotPush
import Origin
package import Storage
import Synchronization

// The files that never change: they are fetched on request.
extension OriginMirror {
    // MARK: What is here

    /// Holds the files that a body is read from; `nil` if one is missing.
    ///
    /// Senders of the same archive share one hold, which names up to 65,535 files. The newest holds stay until
    /// something is fetched, so that repeated requests need not check all files each time.
    package func hold(_ body: AnswerBody) -> CacheHold? {
        if !body.isArchive { return cache.pin(allOf: body.files.map(\.name.path)) }
        if let shared = state.withLock({ $0.archives[body.tag] }) { return shared }
        guard let hold = cache.pin(allOf: body.files.map(\.name.path)) else { return nil }
        let count = state.withLock {
            $0.archives.values.reduce(hold.names.count) { $0 + $1.names.count }
        }
        if count > Self.heldCountMax { forgetArchives() }
        state.withLock { $0.archives[body.tag] = hold }
        return hold
    }

    private static var heldCountMax: Int { 65_536 }

    private func forgetArchives() { state.withLock { $0.archives = [:] } }

    /// Removes a file that does not match its name; the next request fetches it again.
    package func drop(_ name: OriginKey) throws(StoreError) {
        try cache.drop(name.path)
        // Later requests for an archive must notice that this file is missing.
        forgetArchives()
    }

    /// What a device's request needs and is missing here.
    package enum Lack: Sendable, Hashable {
        case file(PlacedFile)
        case pointer(ChannelName)
    }

    /// What a request for a file of the origin needs and is missing here; `nil` if it can be answered.
    package func lack(_ file: ServedFile) -> Lack? {
        if let channel = file.channel { return isUnwatched(channel) ? .pointer(channel) : nil }
        guard let placed = PlacedFile(file), !cache.has(placed.name.path) else { return nil }
        return negatives.isMissing(placed.key.path) ? nil : .file(placed)
    }

    // MARK: Bringing

    /// Fetches what a device's request needs, and remembers what the bucket does not have or refuses.
    /// - Parameter since: when it was requested, in milliseconds; by default now.
    package func bring(_ lack: Lack, since: Int64? = nil) throws(StoreError) {
        switch lack {
        case .pointer(let channel): watch(channel)
        case .file(let file):
            let listed = listed(file)
            do throws(StoreError) {
                try fetch([listed ?? file], listed == nil ? .asked : .listed, since)
            } catch {
                // A file that a release lists exists, so the refusal may be temporary.
                let isRefused = listed == nil && error.code == .accessDenied
                guard isRefused || error.code == .missingFromBucket else { throw error }
                negatives.note(error, of: file.key.path, isMissing: true)
            }
        }
    }

    /// Fetches the missing pieces of an answer, and keeps them.
    /// - Throws: `.missingFromBucket`, also if no current release lists one of them; what fetching throws.
    package func bring(
        _ pieces: [AnswerBody.File], since: Int64? = nil
    ) throws(StoreError) -> CacheHold {
        let hold = cache.pin(pieces.map(\.name.path))
        let lacking = pieces.filter { !cache.has($0.name.path) }
        let sizes = Dictionary(lacking.map { ($0.name, $0.byteCount) }) { first, _ in first }
        let found = try find(Set(sizes.keys))
        let files = try sizes.map { (name, byteCount) throws(StoreError) in
            guard let file = found[name], file.byteCount ?? byteCount == byteCount else {
                throw StoreError(
                    .missingFromBucket,
                    "\(name.path) belongs to a release that \(cache.place) offers no more",
                    object: name.address)
            }
            return file
        }
        try fetch(files, .listed, since)
        return hold
    }

    /// The location of a file in a current release; `nil` if none is known to list it.
    package func listed(_ file: PlacedFile) -> PlacedFile? {
        // Where the documents of a release are damaged, a device may know its files from elsewhere.
        (try? find([file.name]))?[file.name]
    }

    func bringDocuments(_ files: [PlacedFile]) throws(StoreError) {
        try fetch(files.filter { !cache.has($0.name.path) }, .needed)
    }

    private func fetch(
        _ files: [PlacedFile], _ demand: FetchDemand, _ since: Int64? = nil
    ) throws(StoreError) {
        if files.isEmpty { return }
        // Incoming files may need the space of archives that nobody sends.
        forgetArchives()
        try cache.fetch(files.compactMap(NamedFile.init), demand, since: since)
    }

    // MARK: Where files stand

    private func find(_ names: Set<OriginKey>) throws(StoreError) -> [OriginKey: PlacedFile] {
        var listed = state.withLock { $0.listed }
        func found() -> [OriginKey: PlacedFile] {
            Dictionary(
                uniqueKeysWithValues: names.compactMap { name in
                    listed.file(name).map { (name, $0) }
                })
        }
        if case let all = found(), all.count == names.count { return all }
        let known = listed.releases
        listed.read(in: cache)
        state.withLock { [listed] state in
            if state.listed.releases == known { state.listed = listed }
        }
        let all = found()
        if all.count < names.count, let failure = listed.failure { throw failure }
        return all
    }

    /// After a look, determines what the pointers list and what must stay for it.
    func finishNeeds() {
        let needed = state.withLock { state in
            let before = state.listed.releases
            let seen = state.seen.sorted { $0.key < $1.key }.map(\.value)
            state.listed.offer(seen.compactMap(\.pointer))
            if state.listed.releases != before { negatives.forgetMissing() }
            return Set(seen.flatMap(\.needs).map(\.name.path))
        }
        let hold = cache.pin(Array(needed))
        state.withLock { $0.needed = [hold] }
        do throws(StoreError) { try cache.trim() } catch {
            negatives.tell(error.message, of: "the space of the cache")
        }
    }
}
