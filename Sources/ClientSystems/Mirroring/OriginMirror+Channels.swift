package import CASStore
package import HotPush
import Synchronization

// A channel: its pointer, its histories, and what answers about them depend on.
extension OriginMirror {
    /// Looks at a pointer and then at its histories, fetches what answers depend on, and puts them here the other way
    /// round.
    ///
    /// A publisher writes the histories first. So those here know all that the pointer offers, at every moment.
    /// - Throws: what concerns the whole bucket; what concerns the channel is said, and the channel stays as it was.
    func lookAtChannel(
        _ channel: ChannelName, _ systems: [ClientSystem]
    ) throws(StoreError) {
        let part = OriginLayout.pointer(channel)
        do throws(StoreError) {
            let change = try change(of: channel, systems)
            if change.isGone {
                try forget(part)
                state.withLock { state in
                    state.pointers[channel] = nil
                    state.needs[channel] = nil
                }
            } else {
                try complete(channel, change, systems)
            }
            state.withLock { state in
                state.unseen[channel] = nil
                state.seen.insert(channel)
            }
            reach.tell(change.complaint, of: part)
        } catch {
            noteUnseen(channel, because: error)
            guard !reach.isLost(error), error.code != .interrupted else { throw error }
            reach.tell(error, of: part) { "channel \(channel) stays as it was here: \($0)" }
        }
    }

    private func complete(
        _ channel: ChannelName, _ change: MirrorChange, _ systems: [ClientSystem]
    ) throws(StoreError) {
        let known = state.withLock { $0.needs[channel] }
        let needs =
            if let known, known.systems == systems, !change.isNews { known } else {
                ChannelNeeds(
                    systems: systems, files: try self.needs(of: channel, systems, after: change))
            }
        // What the channel needed until now is needed until the pointer is here.
        let hold = cache.pin(needs.files.map(\.name))
        state.withLock { $0.needed.append(hold) }
        try bringNow(needs.files)
        if let pointer = change.pointer?.value {
            try bringTrust(of: pointer)
            // Whoever sees the pointer may ask for what it lists at once.
            state.withLock { $0.listed.offer(also: pointer) }
            cache.forgetAbsences()
        }
        for (path, history) in change.histories.sorted(by: { $0.key < $1.key }) {
            if let history {
                try cache.keep(path, history.bytes, history.tag)
            } else {
                try forget(path)
            }
        }
        if let pointer = change.pointer {
            try cache.keep(OriginLayout.pointer(channel), pointer.bytes, pointer.tag)
        }
        state.withLock { state in
            state.needs[channel] = needs
            if let pointer = change.pointer?.value { state.pointers[channel] = pointer }
        }
    }

    // MARK: What is not known

    /// Why nobody knows what a channel offers; `nil` if that is here, or there is no such channel.
    package func whyUnseen(_ channel: ChannelName) -> StoreError? {
        state.withLock { $0.unseen[channel] }
    }

    /// Notes that a channel could not be looked at, unless something of it is known.
    func noteUnseen(_ channel: ChannelName, because error: StoreError) {
        state.withLock { state in
            guard state.pointers[channel] == nil, !state.seen.contains(channel) else { return }
            state.unseen[channel] = StoreError(
                .unseenChannel,
                "what channel \(channel) offers is not known yet: \(error.message)")
        }
    }

    /// Notes of all channels that could not be looked at.
    func noteUnseen(because error: StoreError) {
        // Where they cannot be read, no client is answered at all.
        guard let configurations = try? mirroredConfigurations() else { return }
        for channel in Self.channels(of: configurations).keys {
            noteUnseen(channel, because: error)
        }
    }

    // MARK: Trust

    /// The versions of the trust up to that of a pointer: who verifies it reads them.
    private func bringTrust(of pointer: ChannelPointer) throws(StoreError) {
        try lookAtTrust(upTo: pointer.trustVersion) { path in
            cache.digest(of: path) == nil
        }
    }

    /// Looks at all versions of the trust that pointers name: a wrong one may have been mended.
    func lookAtTrust() throws(StoreError) {
        let newest = state.withLock { $0.pointers.values.compactMap(\.trustVersion).max() }
        try lookAtTrust(upTo: newest) { _ in true }
    }

    /// Before keys are changed the first time there is no file.
    private func lookAtTrust(
        upTo version: Int64?, where isWanted: (String) -> Bool
    ) throws(StoreError) {
        guard let version, version > TrustFile.firstVersion else { return }
        for version in TrustFile.firstVersion + 1...min(version, Self.trustMax) {
            let path = OriginLayout.trust(version)
            guard isWanted(path) else { continue }
            switch try findPart(path, limit: TrustFile.byteCountMax) {
            case .changed(let bytes, let tag): try cache.keep(path, bytes, tag)
            // What is here proves itself.
            case .same, .gone: break
            }
            // Each is held against the one before.
            if cache.digest(of: path) == nil { return }
        }
    }

    private static var trustMax: Int64 { 1_000 }

    // MARK: What nobody asks for

    /// Forgets what was known of channels that nobody gets any more, and removes their files.
    ///
    /// Pointers stay as long as the origin lists their channels: castree's own devices may ask for them.
    func forgetOthers(than channels: [ChannelName: [ClientSystem]]) throws(StoreError) {
        var wanted: Set<String> = []
        for (channel, systems) in channels {
            for system in systems {
                wanted.insert(OriginLayout.clientHistory(of: channel, system.rawValue))
            }
        }
        for system in ClientSystem.allCases {
            wanted.insert(OriginLayout.clientConfiguration(of: system.rawValue))
        }
        let listed = state.withLock { state in
            state.needs = state.needs.filter { channels[$0.key] != nil }
            state.unseen = state.unseen.filter { channels[$0.key] != nil }
            let listed = state.channels
            state.pointers = state.pointers.filter {
                channels[$0.key] != nil || listed.contains($0.key)
            }
            return listed
        }
        for path in cache.documents {
            if let channel = OriginLayout.channel(ofPointer: path) {
                if channels[channel] == nil, !listed.contains(channel) { try forget(path) }
            } else if path.hasPrefix("\(OriginLayout.clients)/"), !wanted.contains(path) {
                try forget(path)
            }
        }
    }
}
