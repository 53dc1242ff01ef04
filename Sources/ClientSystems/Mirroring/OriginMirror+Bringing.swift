package import CASStore
package import HotPush
package import Storage
import Synchronization

// The files that never change: they come when they are asked for.
extension OriginMirror {
    // MARK: What is here

    /// Keeps what a body is read from, if all is here.
    ///
    /// Those who send the same archive share one hold: it names up to 65,535 files. The newest ones stay until something
    /// is fetched, so what is sent over and over is not looked through each time.
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

    /// Lets those files go that nobody sends.
    private func forgetArchives() { state.withLock { $0.archives = [:] } }

    /// Removes a file that is not what its name says: it comes anew when it is asked for.
    package func drop(_ name: OriginKey) throws(StoreError) {
        try cache.drop(name.path)
        // Whoever asks for an archive from now on has to be told that this file lacks.
        forgetArchives()
    }

    /// What a device's request needs that is not here.
    package enum Lack: Sendable, Hashable {
        /// A file that never changes.
        case file(PlacedFile)
        /// The pointer of a channel that nobody has asked for before.
        case pointer(ChannelName)
    }

    /// What the request for a file of the origin needs that is not here; `nil` if it can be answered.
    package func lack(_ file: ServedFile) -> Lack? {
        if let channel = file.channel { return isUnwatched(channel) ? .pointer(channel) : nil }
        guard let placed = PlacedFile(file), !cache.has(placed.name.path) else { return nil }
        return negatives.isMissing(placed.key.path) ? nil : .file(placed)
    }

    // MARK: Bringing

    /// Has come what a device's request needs; what is not in the bucket, and what cannot be looked at, is known afterwards.
    /// - Parameter since: when it was asked for, in milliseconds; by default now.
    package func bring(_ lack: Lack, since: Int64? = nil) throws(StoreError) {
        switch lack {
        case .pointer(let channel): watch(channel)
        case .file(let file):
            let listed = listed(file)
            do throws(StoreError) {
                try fetch([listed ?? file], listed == nil ? .asked : .listed, since)
            } catch {
                // What a release lists is there: a refusal may pass.
                let isRefused = listed == nil && error.code == .accessDenied
                guard isRefused || error.code == .missingFromBucket else { throw error }
                negatives.note(error, of: file.key.path, isMissing: true)
            }
        }
    }

    /// Fetches what lacks of the pieces of an answer, and keeps them.
    ///
    /// - Throws: `.missingFromBucket`, also if no release lists one of them any more; what fetching throws.
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

    /// A file where a release on offer has it; `nil` if none is known to list it.
    package func listed(_ file: PlacedFile) -> PlacedFile? {
        // Where the documents of a release are damaged, a device may know its files from elsewhere.
        (try? find([file.name]))?[file.name]
    }

    /// Fetches the documents that lack.
    func bringDocuments(_ files: [PlacedFile]) throws(StoreError) {
        try fetch(files.filter { !cache.has($0.name.path) }, .needed)
    }

    private func fetch(
        _ files: [PlacedFile], _ demand: FetchDemand, _ since: Int64? = nil
    ) throws(StoreError) {
        if files.isEmpty { return }
        // What comes may need the room of what nobody sends.
        forgetArchives()
        try cache.fetch(files.compactMap(NamedFile.init), demand, since: since)
    }

    // MARK: Where files stand

    /// Where files stand, of what the pointers list.
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

    /// Takes stock after a look: what the pointers list, and what must stay for it.
    func settleNeeds() {
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
            negatives.tell(error.message, of: "the room of the cache")
        }
    }
}
