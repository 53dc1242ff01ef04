import CASStore
package import HotPush
import Platform
import Storage
import Synchronization

// The files that change: what the bucket says now, in the order that keeps answers whole.
extension OriginMirror {
    /// What a look at a file has found.
    enum Finding {
        /// What is here, or nothing as before.
        case same
        case gone
        case changed([UInt8], EntityTag)
    }

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
    func find(_ path: String, limit: Int) throws(StoreError) -> Finding {
        if let failure = laggards.failure(of: path) { throw failure }
        let began = SystemClock.milliseconds
        let known = state.withLock { $0.tags[path] }
        var request = ReadRequest(byteCountMax: Int64(limit))
        if let tag = known?.tag, !tag.isEmpty { request.unlessTag = EntityTag(tag) }
        let read: (outcome: ReadOutcome, bytes: [UInt8])
        do throws(StoreError) {
            read = try bucket.bytes(path, request)
            reach.noteAnswer()
        } catch {
            laggards.note(path, error, since: began)
            // Who may not list is refused what is not there.
            guard error.code == .accessDenied, known == nil, path != OriginLayout.marker else {
                throw error
            }
            return .same
        }
        switch read.outcome {
        case .notModified: return .same
        case .missing, .beyondEnd: return known == nil ? .same : .gone
        case .found(let file):
            guard let known, try ObjectID(of: read.bytes) == known.digest else {
                return .changed(read.bytes, file.tag)
            }
            note(path, file.tag, known.digest)
            return .same
        }
    }

    /// What the bucket says of a file that concerns a part of the origin: one that is too large, that may not be read
    /// any more, or that alone is not answered must not keep the mirror from the other parts.
    func findPart(_ path: String, limit: Int) throws(StoreError) -> Finding {
        let part = "reading \(path)"
        // What has no marker is no origin: there is nothing that could stay.
        let mayStay = path != OriginLayout.marker || state.withLock { $0.tags[path] != nil }
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

    /// Puts a file here, in one step.
    func take(_ path: String, _ bytes: [UInt8], _ tag: EntityTag) throws(StoreError) {
        do throws(StoreError) {
            try directory.replace(path, with: bytes)
        } catch {
            guard error.code == .outOfSpace else { throw error }
            try shelf.makeRoom()
            try directory.replace(path, with: bytes)
        }
        state.withLock { $0.byteCounts[path] = Int64(bytes.count) }
        note(path, tag, try ObjectID(of: bytes))
    }

    private func note(_ path: String, _ tag: EntityTag, _ digest: ObjectID) {
        state.withLock { state in
            let tag = MirroredTag(tag: tag.bare, digest: digest)
            guard state.tags.updateValue(tag, forKey: path) != tag else { return }
            state.areTagsNoted = false
        }
    }

    /// Removes a file that the bucket has no more.
    func forget(_ path: String) throws(StoreError) {
        try directory.remove(path)
        state.withLock { state in
            state.byteCounts[path] = nil
            state.proved[path] = nil
            if state.tags.removeValue(forKey: path) != nil { state.areTagsNoted = false }
        }
    }

    private func noteTags() {
        let tags = state.withLock { state -> [String: MirroredTag]? in
            defer { state.areTagsNoted = true }
            return state.areTagsNoted ? nil : state.tags
        }
        guard let tags else { return }
        do throws(StoreError) {
            try directory.note(tags)
        } catch {
            // They save some bytes at the next start.
            state.withLock { $0.areTagsNoted = false }
            reach.tell(error.message, of: OriginMirror.tagsPart)
        }
    }

    private static var tagsPart: String { "the tags" }

    // MARK: The origin

    private func lookAtMarker() throws(StoreError) {
        switch try findPart(OriginLayout.marker, limit: Int(OriginMarker.byteCountMax)) {
        case .same:
            guard state.withLock({ $0.tags[OriginLayout.marker] }) != nil else { throw absent }
        case .gone: throw absent
        case .changed(let bytes, let tag):
            try OriginMarker.check(bytes, of: bucket.place)
            try take(OriginLayout.marker, bytes, tag)
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
                let bytes = try directory.contents(path, limit: Int(ChannelList.byteCountMax))
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
            try take(path, bytes, tag)
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
            let before = try mirroredConfiguration(of: system)
            do throws(StoreError) {
                let next = try ClientConfiguration(parsing: bytes, of: system)
                if next.log ?? 0 < before?.log ?? 0, let objection = try objection(toOlder: path) {
                    return reach.tell(objection, of: path)
                }
                try take(path, bytes, tag)
                reach.tell(nil, of: path)
            } catch {
                guard error.code == .badClients || error.code == .unsupportedFormat else {
                    throw error
                }
                try takeUnread(path, bytes, tag, isFirst: before == nil, error)
            }
        }
    }

    /// What cannot be understood says why to those who ask, unless there is something better to answer from.
    private func takeUnread(
        _ path: String, _ bytes: [UInt8], _ tag: EntityTag, isFirst: Bool, _ error: StoreError
    ) throws(StoreError) {
        if isFirst { try take(path, bytes, tag) }
        reach.tell(error.message + (isFirst ? "" : "; what it said before counts"), of: path)
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
        let bytes = try directory.contents(path, limit: ClientConfiguration.byteCountMax)
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
