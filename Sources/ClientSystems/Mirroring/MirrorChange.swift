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
        switch try find(OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax) {
        case .same: break
        case .gone:
            change.isGone = true
            return change
        case .changed(let bytes, let tag): try judge(bytes, tag, of: channel, &change)
        }
        for system in systems {
            let path = OriginLayout.clientHistory(of: channel, system.rawValue)
            switch try findPart(path, limit: ClientHistory.byteCountMax) {
            case .same: break
            case .gone: change.histories[path] = .some(nil)
            case .changed(let bytes, let tag):
                try judge(bytes, tag, of: channel, system, path, &change)
            }
        }
        return change
    }

    private func judge(
        _ bytes: [UInt8], _ tag: EntityTag, of channel: ChannelName, _ change: inout MirrorChange
    ) throws(StoreError) {
        let before = state.withLock { $0.pointers[channel] }
        do throws(StoreError) {
            let pointer = try ChannelPointer(parsing: bytes, of: channel)
            if let before, pointer.sequence < before.sequence, !isRunaway(before),
                let objection = try objection(toOlder: OriginLayout.pointer(channel))
            {
                change.complaint = objection
                return
            }
            change.pointer = MirrorChange.File(bytes: bytes, tag: tag, value: pointer)
        } catch {
            guard !MirrorReach.isLoss(error), error.code != .interrupted else { throw error }
            change.complaint = error.message
            if before == nil {
                change.pointer = MirrorChange.File(bytes: bytes, tag: tag, value: nil)
            }
        }
    }

    /// Whether a sequence cannot have been reached by counting: then the next one is smaller.
    private func isRunaway(_ pointer: ChannelPointer) -> Bool {
        pointer.sequence > options.now() + 365 * 86_400
    }

    private func judge(
        _ bytes: [UInt8], _ tag: EntityTag, of channel: ChannelName, _ system: ClientSystem,
        _ path: String, _ change: inout MirrorChange
    ) throws(StoreError) {
        let before = try mirroredHistory(of: channel, system)
        do throws(StoreError) {
            let history = try ClientHistory(parsing: bytes, of: channel, system)
            if history.log ?? 0 < before?.log ?? 0, let objection = try objection(toOlder: path) {
                change.complaint = objection
                return
            }
            change.histories[path] = MirrorChange.File(bytes: bytes, tag: tag, value: history)
        } catch {
            guard [.badClients, .unsupportedFormat].contains(error.code) else { throw error }
            change.complaint = error.message
            if before == nil {
                change.histories[path] = MirrorChange.File(bytes: bytes, tag: tag, value: nil)
            }
        }
    }

    private func mirroredHistory(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> ClientHistory? {
        let path = OriginLayout.clientHistory(of: channel, system.rawValue)
        let bytes = try directory.contents(path, limit: ClientHistory.byteCountMax)
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
        var needs: [PlacedFile.Name: PlacedFile] = [:]
        for release in pointer.releases.compactMap(ListedRelease.init) {
            for file in release.documents { needs[file.name] = file }
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
                    let name = PlacedFile.Name(.document(system), document.address)
                    needs[name] = PlacedFile(
                        name, in: document.epoch, byteCount: document.byteCount)
                }
            }
        }
        return Array(needs.values)
    }
}
