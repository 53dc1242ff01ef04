import CASStore
import HotPush
import Storage
import Synchronization

/// What is new about a channel in the bucket: a value, nothing of it is here yet.
struct MirrorChange: Sendable {
    /// A file that is to be taken.
    struct File<Value: Sendable>: Sendable {
        var bytes: [UInt8]
        var tag: EntityTag
        /// `nil` if it cannot be understood, and is taken for its reason.
        var value: Value?
    }

    /// The pointer is there no more.
    var isGone = false
    var pointer: File<ChannelPointer>?
    /// By their paths; `nil`: there no more.
    var histories: [String: File<ClientHistory>?] = [:]
    /// What is wrong with what was not taken.
    var complaint: String?

    var isNews: Bool { pointer != nil || !histories.isEmpty }
}

extension OriginMirror {
    /// What is new about a channel: the pointer is looked at first.
    func change(
        of channel: ChannelName, _ systems: [ClientSystem]
    ) throws(StoreError) -> MirrorChange {
        var change = MirrorChange()
        let path = OriginLayout.pointer(channel)
        switch try find(path, limit: ChannelPointer.byteCountMax) {
        case .same: break
        case .gone:
            change.isGone = true
            return change
        case .changed(let bytes, let tag):
            (change.pointer, change.complaint) = try judge(
                path, bytes, tag, before: state.withLock { $0.pointers[channel] },
                isOlder: { $0.sequence < $1.sequence && !self.isRunaway($1) }
            ) { (bytes) throws(StoreError) in try ChannelPointer(parsing: bytes, of: channel) }
        }
        for system in systems {
            let path = OriginLayout.clientHistory(of: channel, system.rawValue)
            switch try findPart(path, limit: ClientHistory.byteCountMax) {
            case .same: break
            case .gone: change.histories[path] = .some(nil)
            case .changed(let bytes, let tag):
                let (file, complaint) = try judge(
                    path, bytes, tag, before: try mirroredHistory(of: channel, system),
                    isOlder: { $0.log ?? 0 < $1.log ?? 0 }
                ) { (bytes) throws(StoreError) in
                    try ClientHistory(parsing: bytes, of: channel, system)
                }
                if let file { change.histories[path] = file }
                change.complaint = complaint ?? change.complaint
            }
        }
        return change
    }

    /// Holds what the bucket says of a file against what is here of it.
    ///
    /// - Parameters:
    ///   - before: what is here; `nil` if that is nothing, or cannot be understood.
    ///   - kept: what follows the complaint if that stays because the new one cannot be understood.
    /// - Returns: what is to be taken, and what is wrong with what the bucket says.
    func judge<Value>(
        _ path: String, _ bytes: [UInt8], _ tag: EntityTag, before: Value?, kept: String = "",
        isOlder: (Value, Value) -> Bool, _ parse: ([UInt8]) throws(StoreError) -> Value
    ) throws(StoreError) -> (file: MirrorChange.File<Value>?, complaint: String?) {
        let value: Value
        do throws(StoreError) { value = try parse(bytes) } catch {
            // It says why to those who ask, unless there is something better to answer from.
            if before != nil { return (nil, error.message + kept) }
            return (MirrorChange.File(bytes: bytes, tag: tag), error.message)
        }
        if let before, isOlder(value, before), let objection = try objection(toOlder: path) {
            return (nil, objection)
        }
        return (MirrorChange.File(bytes: bytes, tag: tag, value: value), nil)
    }

    /// Whether a sequence cannot have been reached by counting: then the next one is smaller.
    private func isRunaway(_ pointer: ChannelPointer) -> Bool {
        pointer.sequence > options.now() + 365 * 86_400
    }

    private func mirroredHistory(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> ClientHistory? {
        let path = OriginLayout.clientHistory(of: channel, system.rawValue)
        let bytes = try cache.contents(path, limit: ClientHistory.byteCountMax)
        // One that cannot be read tells nothing; whoever answers from it says so.
        return bytes.flatMap { try? ClientHistory(parsing: $0, of: channel, system) }
    }

    /// What answers about a channel depend on: manifests, facts, places and documents of what it offers.
    ///
    /// - Parameter change: what is about to be here.
    func needs(
        of channel: ChannelName, _ systems: [ClientSystem], after change: MirrorChange? = nil
    ) throws(StoreError) -> [PlacedFile] {
        let pointer = change?.pointer?.value ?? state.withLock { $0.pointers[channel] }
        guard let pointer, !systems.isEmpty else { return [] }
        var needs: [OriginKey: PlacedFile] = [:]
        for release in pointer.liveReleases where release.facts != nil {
            for file in release.documents + release.factsDocuments { needs[file.name] = file }
        }
        for system in systems {
            let path = OriginLayout.clientHistory(of: channel, system.rawValue)
            let history: ClientHistory?
            if let changed = change?.histories[path] {
                history = changed?.value
            } else {
                history = try mirroredHistory(of: channel, system)
            }
            guard let history else { continue }
            for live in ClientChannel(pointer, history).live {
                for document in live.offer.documents {
                    let key = OriginKey(
                        .document(of: system.told), document.address, in: document.epoch)
                    needs[key.name] = PlacedFile(key, byteCount: document.byteCount)
                }
            }
        }
        return Array(needs.values)
    }
}
