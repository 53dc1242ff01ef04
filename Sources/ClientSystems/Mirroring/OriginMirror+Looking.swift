import CASStore
package import HotPush
import Storage
import Synchronization

// The files that change: what the bucket says now, in the order that keeps answers whole.
extension OriginMirror {
    /// Looks at all files that change; throws what concerns the bucket as a whole.
    func lookOnce() throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        do throws(StoreError) {
            try lookAtMarker()
            try take(.channelList)
            let names = try cache.kept(ChangingFile.channelList).flatMap {
                // One that an earlier process has left may be torn: then nobody may ask.
                try? ChannelList.names(parsing: $0)
            }
            state.withLock { $0.channels = Set(names ?? []) }
            for system in ClientSystem.allCases.sorted() { try take(.configuration(of: system)) }
            var channels = try toldChannels()
            for channel in state.withLock({ $0.seen.keys.filter($0.channels.contains) })
            where channels[channel] == nil {
                channels[channel] = []
            }
            try forgetOthers(than: channels)
            let all = channels.sorted { $0.key < $1.key }
            defer { settle() }
            try cache.inParallel(all.count) { (index) throws(StoreError) in
                try self.lookAtChannel(all[index].key, all[index].value)
            }
            // A wrong version of the trust may have been mended.
            try lookAtTrust(
                upTo: state.withLock { $0.seen.values.compactMap(\.pointer?.trustVersion).max() })
        } catch {
            // Where configurations cannot be read, no client is answered at all.
            for channel in (try? toldChannels())?.keys.sorted() ?? [] {
                noteUnseen(channel, because: error)
            }
            throw error
        }
    }

    /// Begins to look at the pointer of a channel that one of castree's own devices asks for.
    package func watch(_ channel: ChannelName) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        // Another request may have come first.
        guard isUnwatched(channel) else { return }
        do throws(StoreError) {
            if let refusal = negatives.refusal {
                return noteUnseen(channel, because: refusal)
            }
            // Whose first look has failed may be one that other systems' clients get.
            try lookAtChannel(channel, toldChannels()[channel] ?? [])
        } catch {
            negatives.note(error)
        }
        settle()
    }

    /// Whether the origin lists a channel of which nothing is here.
    func isUnwatched(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            let isKnown = state.seen[channel].map { $0.trouble == nil } ?? false
            return state.channels.contains(channel) && !isKnown
                && state.seen.values.count { $0.systems.isEmpty } < Self.watchedMax
        }
    }

    /// So many channels are looked at that only castree's own devices have asked for.
    private static var watchedMax: Int { 256 }

    private func settle() {
        settleNeeds()
        do throws(StoreError) { try cache.noteTags() } catch {
            negatives.tell(error.message, of: "the tags")
        }
    }

    // MARK: One file

    /// What the bucket says of a file that changes.
    func find(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        do throws(StoreError) {
            return try cache.news(of: file.path, limit: file.limit)
        } catch {
            // Who may not list is refused what is not there.
            guard error.code == .accessDenied, cache.digest(of: file.path) == nil,
                file.path != OriginLayout.marker
            else { throw error }
            return .same
        }
    }

    /// What the bucket says of a file that concerns a part of the origin: one that is too large, that may not be read
    /// any more, or that alone is not answered must not keep the mirror from the other parts.
    func findPart(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        let part = "reading \(file.path)"
        do throws(StoreError) {
            let news = try find(file)
            negatives.tell(nil, of: part)
            return news
        } catch {
            // What has no marker is no origin: there is nothing that could stay.
            guard file.path != OriginLayout.marker || cache.digest(of: file.path) != nil,
                error.code == .tooLarge || error.mayMeanLoss && !negatives.isLost(error)
            else { throw error }
            negatives.tell("\(error.message); what it said before counts", of: part, error)
            return .same
        }
    }

    /// What is to be taken of what the bucket says of a file; says what is wrong with what is not.
    func judged(
        _ file: ChangingFile, _ news: DocumentNews
    ) throws(StoreError) -> FileChange {
        var (taken, complaint) = (news, String?.none)
        // Nobody deletes what the log names.
        if case .gone = news {
            complaint = try objection(to: file, "is gone")
            if complaint != nil { taken = .same }
        } else if case .changed(let bytes, _) = news {
            // One that is here and cannot be understood is nothing to hold on to.
            let before = try cache.kept(file).flatMap { try? file.order($0) }
            let order: Int64?
            do throws(StoreError) { order = try file.order(bytes) } catch {
                // It says why to those who ask, unless there is something better to answer from.
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

    /// Takes what the bucket says of a file that concerns a part of the origin.
    private func take(_ file: ChangingFile) throws(StoreError) {
        try put(judged(file, findPart(file)))
    }

    /// Puts here what is taken.
    func put(_ change: FileChange) throws(StoreError) {
        switch change.news {
        case .same: break
        case .changed(let bytes, let tag): try cache.keep(change.file.path, bytes, tag)
        case .gone: try forget(change.file.path)
        }
    }

    /// Removes a file that the bucket has no more.
    func forget(_ path: String) throws(StoreError) {
        try cache.forget(path)
        state.withLock { $0.proved[path] = nil }
    }

    /// Why a copy in the bucket that names an older entry of the log than the one here, or is not there any more, does not
    /// count; `nil` if it does.
    ///
    /// Anybody who may write there may have written either. What is true stands in the log, so the one here counts
    /// unless the log says something else; one that it has proved is not held against it again.
    /// - Throws: what says that the bucket cannot be reached.
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
        // One that is gone stays here: without it nothing would be answered after a restart.
        if case .gone = news {} else if cache.digest(of: marker.path) != nil { return }
        throw StoreError(
            .noOrigin, "there is no origin in \(cache.place); castree publish makes one")
    }

    /// The versions of the trust that pointers name; before keys are changed the first time there is no file.
    /// - Parameter isMissingOnly: whether those that are here stay as they are.
    func lookAtTrust(upTo version: Int64?, isMissingOnly: Bool = false) throws(StoreError) {
        guard let version, version > TrustFile.firstVersion else { return }
        for version in TrustFile.firstVersion + 1...min(version, Self.trustMax) {
            let file = ChangingFile.trust(version)
            if isMissingOnly, cache.digest(of: file.path) != nil { continue }
            // What is here proves itself.
            if case .changed(let bytes, let tag) = try findPart(file) {
                try cache.keep(file.path, bytes, tag)
            }
            // Each is held against the one before.
            if cache.digest(of: file.path) == nil { return }
        }
    }

    private static var trustMax: Int64 { 1_000 }

    /// The channels that clients of other systems get, with those systems, by the configurations that are here.
    func toldChannels() throws(StoreError) -> [ChannelName: [ClientSystem]] {
        var channels: [ChannelName: [ClientSystem]] = [:]
        for system in ClientSystem.allCases.sorted() {
            // One that cannot be read sets nothing; whoever answers from it says so.
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
    /// The bytes of a file that changes as they are here.
    func kept(_ file: ChangingFile) throws(StoreError) -> [UInt8]? {
        try kept(file.path, limit: file.limit)
    }
}
