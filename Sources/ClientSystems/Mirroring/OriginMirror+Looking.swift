import CASStore
package import HotPush
import Origin
import Storage
import Synchronization

// The files that change: fetches their current state from the bucket in an order that keeps answers consistent.
extension OriginMirror {
    /// Looks at all files that change; throws only errors of the whole bucket.
    func lookOnce() throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        do throws(StoreError) {
            try lookAtMarker()
            try take(.channelList)
            let names = try cache.kept(ChangingFile.channelList).flatMap {
                // A list left by an earlier process may be torn; then no channel may be requested.
                try? ChannelList.names(parsing: $0)
            }
            state.withLock { $0.channels = Set(names ?? []) }
            for system in ClientSystem.allCases.sorted() { try take(.configuration(of: system)) }
            var channels = try announcedChannels()
            for channel in state.withLock({ $0.seen.keys.filter($0.channels.contains) })
            where channels[channel] == nil {
                channels[channel] = []
            }
            try forgetOthers(than: channels)
            let all = channels.sorted { $0.key < $1.key }
            defer { finishLook() }
            try cache.inParallel(all.count) { (index) throws(StoreError) in
                try self.lookAtChannel(all[index].key, all[index].value)
            }
            // A wrong version of the trust may have been mended.
            try lookAtTrust(
                upTo: state.withLock { $0.seen.values.compactMap(\.pointer?.trustVersion).max() })
        } catch {
            // Without configurations no client is answered at all.
            for channel in (try? announcedChannels())?.keys.sorted() ?? [] {
                noteUnseen(channel, because: error)
            }
            throw error
        }
    }

    /// Begins to follow the pointer of a channel that one of castree's own devices requests.
    package func watch(_ channel: ChannelName) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        // Another request may have come first.
        guard isUnwatched(channel) else { return }
        do throws(StoreError) {
            if let refusal = negatives.refusal {
                return noteUnseen(channel, because: refusal)
            }
            // If its first look failed, other systems' clients may also get this channel.
            try lookAtChannel(channel, announcedChannels()[channel] ?? [])
        } catch {
            negatives.note(error)
        }
        finishLook()
    }

    /// Whether the origin lists a channel of which nothing is here.
    func isUnwatched(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            let isKnown = state.seen[channel].map { $0.problem == nil } ?? false
            return state.channels.contains(channel) && !isKnown
                && state.seen.values.count { $0.systems.isEmpty } < Self.watchedMax
        }
    }

    /// The most channels followed only for castree's own devices.
    private static var watchedMax: Int { 256 }

    private func finishLook() {
        finishNeeds()
        do throws(StoreError) { try cache.noteTags() } catch {
            negatives.tell(error.message, of: "the tags")
        }
    }

    // MARK: One file

    func find(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        do throws(StoreError) {
            return try cache.news(of: file.path, limit: file.limit)
        } catch {
            // Without the right to list, S3 answers 403 for missing files.
            guard error.code == .accessDenied, cache.digest(of: file.path) == nil,
                file.path != OriginLayout.marker
            else { throw error }
            return .same
        }
    }

    /// The bucket's state of a file that concerns one part of the origin.
    ///
    /// If that file is too large, forbidden or unavailable, the mirror still updates the other parts.
    func findPart(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        let part = "reading \(file.path)"
        do throws(StoreError) {
            let news = try find(file)
            negatives.tell(nil, of: part)
            return news
        } catch {
            // Without a marker there is no origin, and nothing here to keep.
            guard file.path != OriginLayout.marker || cache.digest(of: file.path) != nil,
                error.code == .tooLarge || error.mayMeanLoss && !negatives.isLost(error)
            else { throw error }
            negatives.tell("\(error.message); what it said before counts", of: part, error)
            return .same
        }
    }

    /// Decides what to take of the bucket's answer, and reports what is wrong with the rest.
    func judged(
        _ file: ChangingFile, _ news: DocumentNews
    ) throws(StoreError) -> FileChange {
        var (taken, complaint) = (news, String?.none)
        // Nobody deletes what the log names.
        if case .gone = news {
            complaint = try objection(to: file, "is gone")
            if complaint != nil { taken = .same }
        } else if case .changed(let bytes, _) = news {
            // A damaged copy here is not worth keeping.
            let before = try cache.kept(file).flatMap { try? file.order($0) }
            let order: Int64?
            do throws(StoreError) { order = try file.order(bytes) } catch {
                // A damaged file explains the error to clients, unless there is an older good copy to answer from.
                complaint = error.message + (before == nil ? "" : "; what it said before counts")
                order = nil
            }
            if let before, let order, order < before {
                complaint = try objection(to: file, "is an older copy")
            }
            if before != nil, complaint != nil { taken = .same }
        }
        negatives.tell(complaint, of: file.path)
        return (file, taken)
    }

    private func take(_ file: ChangingFile) throws(StoreError) {
        try put(judged(file, findPart(file)))
    }

    func put(_ change: FileChange) throws(StoreError) {
        switch change.news {
        case .same: break
        case .changed(let bytes, let tag): try cache.keep(change.file.path, bytes, tag)
        case .gone: try forget(change.file.path)
        }
    }

    func forget(_ path: String) throws(StoreError) {
        try cache.forget(path)
        state.withLock { $0.proved[path] = nil }
    }

    /// Why a bucket's copy that is older than the copy here, or gone, does not count; `nil` if it does.
    ///
    /// Anyone who may write to the bucket may have written either. The log decides, so the copy here counts unless
    /// the log contradicts it; a copy that the log proved is not checked again.
    /// - Throws: errors that mean that the bucket cannot be reached.
    private func objection(
        to file: ChangingFile, _ problem: String
    ) throws(StoreError) -> String? {
        let (path, digest) = (file.path, cache.digest(of: file.path))
        let older = "\(path) in \(cache.place) \(problem), and the one here counts"
        let mended = "\(older); the next publish there mends it"
        if let digest, state.withLock({ $0.proved[path] }) == digest { return mended }
        do throws(StoreError) {
            guard let bytes = try cache.kept(file),
                try LoggedCopies.prove(bytes, at: path, in: cache)
            else { return nil }
        } catch {
            if negatives.isLost(error) || error.code == .interrupted { throw error }
            return "\(older) until the log says which of them is right: \(error.message)"
        }
        state.withLock { $0.proved[path] = digest }
        return mended
    }

    // MARK: The origin

    private func lookAtMarker() throws(StoreError) {
        let marker = ChangingFile.marker(of: cache.place)
        let news = try findPart(marker)
        if case .changed(let bytes, let tag) = news {
            _ = try marker.order(bytes)
            try cache.keep(marker.path, bytes, tag)
        }
        // Keep a marker that is gone from the bucket: without it nothing would be answered after a restart.
        if case .gone = news {} else if cache.digest(of: marker.path) != nil { return }
        throw StoreError(
            .noOrigin, "there is no origin in \(cache.place); castree publish creates one")
    }

    /// Fetches the versions of the trust that pointers name; before the first change of keys there is no file.
    /// - Parameter isMissingOnly: whether to leave those that are here alone.
    func lookAtTrust(upTo version: Int64?, isMissingOnly: Bool = false) throws(StoreError) {
        guard let version, version > TrustFile.firstVersion else { return }
        for version in TrustFile.firstVersion + 1...min(version, Self.trustMax) {
            let file = ChangingFile.trust(version)
            if isMissingOnly, cache.digest(of: file.path) != nil { continue }
            // Readers verify it against its own signatures.
            if case .changed(let bytes, let tag) = try findPart(file) {
                try cache.keep(file.path, bytes, tag)
            }
            // Each is verified against the one before.
            if cache.digest(of: file.path) == nil { return }
        }
    }

    private static var trustMax: Int64 { 1_000 }

    /// The channels that clients of other systems get, with those systems, by the configurations here.
    func announcedChannels() throws(StoreError) -> [ChannelName: [ClientSystem]] {
        var channels: [ChannelName: [ClientSystem]] = [:]
        for system in ClientSystem.allCases.sorted() {
            // A damaged configuration sets nothing; the answer reports it.
            let configuration = try cache.kept(.configuration(of: system)).flatMap {
                try? ClientConfiguration(parsing: $0, of: system)
            }
            guard let configuration, configuration.isEnabled else { continue }
            for channel in Set(configuration.deployments.values) {
                channels[channel, default: []].append(system)
            }
        }
        return channels
    }
}

extension CachedStorage {
    func kept(_ file: ChangingFile) throws(StoreError) -> [UInt8]? {
        try kept(file.path, limit: file.limit)
    }
}
