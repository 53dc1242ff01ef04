package import CASStore
package import HotPush
import Origin
import Storage
import Synchronization

// A channel: its pointer, its histories, and what answers about them depend on.
extension OriginMirror {
    /// Looks at a pointer and then at its histories, fetches what answers depend on, and stores them in the reverse
    /// order.
    ///
    /// A publisher writes the histories first, so the histories here always know all that the pointer offers.
    /// - Throws: errors of the whole bucket. Errors of the channel are reported, and the channel stays as it was.
    func lookAtChannel(
        _ channel: ChannelName, _ systems: [ClientSystem]
    ) throws(StoreError) {
        let part = "channel \(channel)"
        do throws(StoreError) {
            let file = ChangingFile.pointer(of: channel)
            let pointer = try judged(file, find(file))
            if case .gone = pointer.news {
                try forget(file.path)
                state.withLock { $0.seen[channel] = SeenChannel() }
            } else {
                var changes: [FileChange] = []
                for system in systems {
                    let file = ChangingFile.history(of: channel, system)
                    changes.append(try judged(file, findPart(file)))
                }
                try complete(channel, systems, changes + [pointer])
                try lookAtPatches(of: channel, systems)
            }
            negatives.tell(nil, of: part)
        } catch {
            noteUnseen(channel, because: error)
            guard !negatives.isLost(error), error.code != .interrupted else { throw error }
            negatives.tell("\(part) stays as it was here: \(error.message)", of: part, error)
        }
    }

    private func complete(
        _ channel: ChannelName, _ systems: [ClientSystem], _ changes: [FileChange]
    ) throws(StoreError) {
        let before = state.withLock { $0.seen[channel] }
        let changes = changes.filter { if case .same = $0.news { false } else { true } }
        var seen = before ?? SeenChannel()
        if !changes.isEmpty || seen.systems != systems {
            seen = try known(of: channel, systems, changes)
        }
        seen.problem = nil
        // Files that the channel needed before are needed until the new pointer is stored.
        let hold = cache.pin(seen.needs.map(\.name.path))
        state.withLock { $0.needed.append(hold) }
        try bringDocuments(seen.needs)
        if let pointer = seen.pointer, pointer != before?.pointer {
            // The versions of the trust must be here before anyone verifies the pointer.
            try lookAtTrust(upTo: pointer.trustVersion, isMissingOnly: true)
            // As soon as the pointer is visible, requests for its files may arrive.
            state.withLock { $0.listed.offer(also: pointer) }
            negatives.forgetMissing()
        }
        for change in changes { try put(change) }
        state.withLock { [seen] in $0.seen[channel] = seen }
    }

    /// Fetches the patches of a channel, without which its clients get whole files.
    private func lookAtPatches(
        of channel: ChannelName, _ systems: [ClientSystem]
    ) throws(StoreError) {
        guard systems.contains(where: ClientPatches.isFor) else { return }
        let part = "the patches of channel \(channel)"
        do throws(StoreError) {
            let file = ChangingFile.patches(of: channel)
            try put(judged(file, findPart(file)))
            let patches = try keptPatches(of: channel)
            let hold = cache.pin(patches.map(\.name.path))
            state.withLock { $0.needed.append(hold) }
            try bringDocuments(patches)
            state.withLock { $0.seen[channel]?.patches = patches }
            negatives.tell(nil, of: part)
        } catch {
            guard !negatives.isLost(error), error.code != .interrupted else { throw error }
            negatives.tell("\(part) are not all here: \(error.message)", of: part, error)
        }
    }

    func keptPatches(of channel: ChannelName) throws(StoreError) -> [PlacedFile] {
        let patches = try cache.kept(.patches(of: channel)).flatMap {
            // A damaged file names none; the answer reports it.
            try? ClientPatches(parsing: $0, of: channel)
        }
        return (patches?.releases.flatMap(\.patches) ?? []).map {
            PlacedFile($0.key, byteCount: $0.byteCount)
        }
    }

    /// The state of a channel according to files that are here, or about to be: its pointer, and the manifests,
    /// facts, locations and documents that answers depend on.
    func known(
        of channel: ChannelName, _ systems: [ClientSystem], _ changes: [FileChange] = []
    ) throws(StoreError) -> SeenChannel {
        func bytes(_ file: ChangingFile) throws(StoreError) -> [UInt8]? {
            switch changes.first(where: { $0.file.path == file.path })?.news {
            case .changed(let bytes, _): bytes
            case .gone: nil
            case .same, nil: try cache.kept(file)
            }
        }
        // A damaged pointer offers nothing; the answer reports it.
        let pointer = try bytes(.pointer(of: channel)).flatMap {
            try? ChannelPointer(parsing: $0, of: channel)
        }
        var needs: [OriginKey: PlacedFile] = [:]
        for release in systems.isEmpty ? [] : pointer?.liveReleases ?? []
        where release.facts != nil {
            for file in release.documents + release.factsDocuments { needs[file.name] = file }
        }
        for system in systems {
            let history = try bytes(.history(of: channel, system)).flatMap {
                // As above.
                try? ClientHistory(parsing: $0, of: channel, system)
            }
            guard let pointer, let history else { continue }
            for live in ClientChannel(pointer, history).live {
                for document in live.offer.documents {
                    let key = OriginKey(
                        .document(of: system.announced), document.address, in: document.epoch)
                    needs[key.name] = PlacedFile(key, byteCount: document.byteCount)
                }
            }
        }
        return SeenChannel(
            pointer: pointer, systems: systems, needs: Array(needs.values),
            patches: state.withLock { $0.seen[channel]?.patches ?? [] })
    }

    // MARK: What is not known

    /// Why it is unknown what a channel offers; `nil` if it is known, or there is no such channel.
    package func whyUnseen(_ channel: ChannelName) -> StoreError? {
        state.withLock { $0.seen[channel]?.problem }
    }

    func noteUnseen(_ channel: ChannelName, because error: StoreError) {
        state.withLock { state in
            if let known = state.seen[channel], known.problem == nil { return }
            let problem = "what channel \(channel) offers is not known yet: \(error.message)"
            state.seen[channel] = SeenChannel(problem: StoreError(.unseenChannel, problem))
        }
    }

    // MARK: What nobody asks for

    /// Forgets channels that no client gets any more, and removes their files.
    ///
    /// Pointers stay as long as the origin lists their channels: castree's own devices may request them.
    func forgetOthers(than channels: [ChannelName: [ClientSystem]]) throws(StoreError) {
        let listed = state.withLock { state in
            state.seen = state.seen.filter { channels[$0.key] != nil }
            return state.channels
        }
        var wanted = listed.union(channels.keys).map { OriginLayout.pointer($0) }
        wanted += ClientSystem.allCases.map { OriginLayout.clientConfiguration(of: $0.rawValue) }
        for (channel, systems) in channels {
            wanted += systems.map { OriginLayout.clientHistory(of: channel, $0.rawValue) }
            if systems.contains(where: ClientPatches.isFor) {
                wanted.append(ClientPatches.path(of: channel))
            }
        }
        for path in Set(cache.documents).subtracting(wanted)
        where OriginLayout.channel(ofPointer: path) != nil
            || path.hasPrefix("\(OriginLayout.clients)/")
        {
            try forget(path)
        }
    }
}
