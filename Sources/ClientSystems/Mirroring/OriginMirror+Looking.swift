import CASStore
package import HotPush
import Platform
import Storage
import Synchronization

// The files that change: what the bucket says now, in the order that keeps answers whole.
extension OriginMirror {
    /// Looks at all files that change; throws what concerns the bucket as a whole.
    func lookOnce() throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        do throws(StoreError) {
            try lookAtAll()
        } catch {
            noteUnseen(because: error)
            throw error
        }
    }

    private func lookAtAll() throws(StoreError) {
        try lookAtMarker()
        try lookAtChannelList()
        for system in ClientSystem.allCases.sorted() { try lookAtConfiguration(of: system) }
        var channels = Self.channels(of: try mirroredConfigurations())
        for channel in state.withLock({ $0.others }) where channels[channel] == nil {
            channels[channel] = []
        }
        try forgetOthers(than: channels)
        let all = channels.sorted { $0.key < $1.key }
        defer {
            settleNeeds()
            noteTags()
        }
        try bucket.inParallel(all.count) { (index) throws(StoreError) in
            try self.lookAtChannel(all[index].key, all[index].value)
        }
        try lookAtTrust()
    }

    /// Begins to look at the pointer of a channel that one of castree's own devices asks for.
    package func watch(_ channel: ChannelName) {
        let isNew = state.withLock { state in
            state.others.count < Self.otherMax && state.others.insert(channel).inserted
        }
        guard isNew else { return }
        turn.enter()
        defer { turn.leave(limit: 1) }
        do throws(StoreError) {
            if let refusal = reach.refusal {
                noteUnseen(channel, because: refusal)
                return state.withLock { _ = $0.others.remove(channel) }
            }
            // Whose first look has failed may be one that other systems' clients get.
            let systems = Self.channels(of: try mirroredConfigurations())[channel] ?? []
            try lookAtChannel(channel, systems)
        } catch {
            reach.note(error)
            state.withLock { _ = $0.others.remove(channel) }
        }
        settleNeeds()
        noteTags()
    }

    private static var otherMax: Int { 256 }

    // MARK: One file

    /// What the bucket says of a file that changes.
    func find(_ path: String, limit: Int) throws(StoreError) -> DocumentNews {
        if let failure = laggards.failure(of: path) { throw failure }
        let began = SystemClock.milliseconds
        do throws(StoreError) {
            let news = try cache.news(of: path, limit: limit)
            reach.noteAnswer()
            return news
        } catch {
            laggards.note(path, error, since: began)
            // Who may not list is refused what is not there.
            guard error.code == .accessDenied, cache.digest(of: path) == nil,
                path != OriginLayout.marker
            else { throw error }
            return .same
        }
    }

    /// What the bucket says of a file that concerns a part of the origin: one that is too large, that may not be read
    /// any more, or that alone is not answered must not keep the mirror from the other parts.
    func findPart(_ path: String, limit: Int) throws(StoreError) -> DocumentNews {
        let part = "reading \(path)"
        // What has no marker is no origin: there is nothing that could stay.
        let mayStay = path != OriginLayout.marker || cache.digest(of: path) != nil
        do throws(StoreError) {
            let finding = try find(path, limit: limit)
            reach.tell(nil, of: part)
            return finding
        } catch {
            guard mayStay, path != OriginLayout.marker || !areAllRefused(error),
                [.tooLarge, .accessDenied].contains(error.code)
                    || MirrorReach.isLoss(error) && !reach.isLost(error)
            else { throw error }
            reach.tell(error, of: part) { "\($0); what it said before counts" }
            return .same
        }
    }

    /// Whether the bucket refuses the other file that every origin has, too: then keys or rights are gone, which is said once.
    private func areAllRefused(_ error: StoreError) -> Bool {
        guard error.code == .accessDenied else { return false }
        do throws(StoreError) {
            _ = try bucket.head(OriginLayout.channelList)
            return false
        } catch {
            return error.code == .accessDenied
        }
    }

    /// Removes a file that the bucket has no more.
    func forget(_ path: String) throws(StoreError) {
        try cache.forget(path)
        state.withLock { $0.proved[path] = nil }
    }

    private func noteTags() {
        do throws(StoreError) { try cache.noteTags() } catch {
            reach.tell(error.message, of: "the tags")
        }
    }

    // MARK: The origin

    private func lookAtMarker() throws(StoreError) {
        switch try findPart(OriginLayout.marker, limit: Int(OriginMarker.byteCountMax)) {
        case .same:
            guard cache.digest(of: OriginLayout.marker) != nil else { throw absent }
        case .gone: throw absent
        case .changed(let bytes, let tag):
            try OriginMarker.check(bytes, of: bucket.place)
            try cache.keep(OriginLayout.marker, bytes, tag)
        }
    }

    private var absent: StoreError {
        StoreError(.noOrigin, "there is no origin in \(bucket.place); castree publish makes one")
    }

    private func lookAtChannelList() throws(StoreError) {
        let path = OriginLayout.channelList
        switch try findPart(path, limit: Int(ChannelList.byteCountMax)) {
        case .same:
            guard state.withLock({ $0.channels.isEmpty }),
                let bytes = try cache.contents(path, limit: Int(ChannelList.byteCountMax))
            else { return }
            try takeChannels(bytes)
        case .gone: try forget(path)
        case .changed(let bytes, let tag):
            do throws(StoreError) {
                try takeChannels(bytes)
            } catch {
                // It only says which pointers devices may ask for.
                return reach.tell(error.message, of: path)
            }
            try cache.keep(path, bytes, tag)
            reach.tell(nil, of: path)
        }
    }

    private func takeChannels(_ bytes: [UInt8]) throws(StoreError) {
        let names = Set(try ChannelList.names(parsing: bytes))
        state.withLock { $0.channels = names }
    }

    /// Whether the origin lists a channel whose pointer is not here.
    func isUnwatched(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            state.channels.contains(channel) && state.pointers[channel] == nil
                && !state.others.contains(channel) && state.others.count < Self.otherMax
        }
    }

    // MARK: Configurations

    private func lookAtConfiguration(of system: ClientSystem) throws(StoreError) {
        let path = OriginLayout.clientConfiguration(of: system.rawValue)
        switch try findPart(path, limit: ClientConfiguration.byteCountMax) {
        case .same: break
        case .gone: try forget(path)
        case .changed(let bytes, let tag):
            let (file, complaint) = try judge(
                path, bytes, tag, before: try mirroredConfiguration(of: system),
                kept: "; what it said before counts", isOlder: { $0.log ?? 0 < $1.log ?? 0 }
            ) { (bytes) throws(StoreError) in
                try ClientConfiguration(parsing: bytes, of: system)
            }
            if let file { try cache.keep(path, file.bytes, file.tag) }
            reach.tell(complaint, of: path)
        }
    }

    /// The configurations that are here and can be read.
    func mirroredConfigurations() throws(StoreError) -> [ClientConfiguration] {
        var all: [ClientConfiguration] = []
        for system in ClientSystem.allCases.sorted() {
            if let one = try mirroredConfiguration(of: system) { all.append(one) }
        }
        return all
    }

    private func mirroredConfiguration(
        of system: ClientSystem
    ) throws(StoreError) -> ClientConfiguration? {
        let path = OriginLayout.clientConfiguration(of: system.rawValue)
        let bytes = try cache.contents(path, limit: ClientConfiguration.byteCountMax)
        // One that cannot be read sets nothing; whoever answers from it says so.
        return bytes.flatMap { try? ClientConfiguration(parsing: $0, of: system) }
    }

    /// The channels that clients of other systems get, with those systems.
    static func channels(
        of configurations: [ClientConfiguration]
    ) -> [ChannelName: [ClientSystem]] {
        var channels: [ChannelName: [ClientSystem]] = [:]
        for configuration in configurations where configuration.isEnabled {
            for channel in Set(configuration.deployments.values) {
                channels[channel, default: []].append(configuration.system)
            }
        }
        return channels
    }
}
