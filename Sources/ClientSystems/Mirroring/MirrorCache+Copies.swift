import HotPush
import Platform
import Storage
import Synchronization

// Which copies are there, who keeps them, and what goes.
extension MirrorCache {
    /// Whether a copy is there that was compared with its name.
    func has(_ name: Name) -> Bool { state.withLock { $0.index.state(of: name) == .whole } }

    /// Keeps copies, whether they are there or still come.
    func pin(_ names: [Name]) -> MirrorHold {
        state.withLock { $0.index.pin(names) }
        return MirrorHold(names, self)
    }

    /// Keeps copies, if all are there.
    func pin(allOf names: [Name]) -> MirrorHold? {
        let areThere = state.withLock { state in
            guard names.allSatisfy({ state.index.state(of: $0) == .whole }) else { return false }
            state.index.pin(names)
            return true
        }
        return areThere ? MirrorHold(names, self) : nil
    }

    fileprivate func unpin(_ names: [Name]) { state.withLock { $0.index.unpin(names) } }

    /// Removes a copy that is not what its name says: it comes anew when it is read.
    func drop(_ name: Name) throws(StoreError) { try remove(name) { _ in true } }

    /// Whether a copy is there and is what its name says; what an earlier process has left is compared with it now.
    func proves(_ name: Name) throws(StoreError) -> Bool {
        switch state.withLock({ $0.index.state(of: name) }) {
        case .absent: return false
        case .whole: return true
        case .left: break
        }
        var digester = try Digester(.sha256)
        // One that is too large or cannot be read is fetched anew like one with other bytes.
        _ = try? copies.get(name.path, ReadRequest(byteCountMax: name.byteCountMax)) { part in
            digester.update(part)
        }
        guard digester.finish({ ObjectID(unchecked: $0) }) == name.address else {
            // Another thread may have found that, and had it come anew.
            try remove(name) { $0.state(of: name) == .left }
            return false
        }
        state.withLock { $0.index.prove(name) }
        return true
    }

    // MARK: Room

    /// Removes a quarter of what may go: the disk is fuller than the limit says.
    func makeRoom() throws(StoreError) {
        var less = limit
        less.byteCount = state.withLock { $0.index.room } / 4 * 3
        try trim(to: less)
    }

    /// Removes what is too much, if it may go.
    func trim(to limit: MirrorIndex.Limit) throws(StoreError) {
        for name in state.withLock({ $0.index.leaving(limit) }) {
            // Somebody may need it since.
            try remove(name) { $0.mayGo(name) }
        }
    }

    /// Removes a copy, so that nobody relies on it from then on.
    private func remove(
        _ name: Name, where isToGo: (MirrorIndex) -> Bool
    ) throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        let goes = state.withLock { state in
            guard isToGo(state.index) else { return false }
            state.index.remove(name)
            return true
        }
        if goes { try copies.remove(name.path) }
    }

    // MARK: What is there at the start

    /// Finds what earlier processes have left, the newest to be used last; nothing goes until it is known what must stay.
    func scan() throws(StoreError) {
        let tags = notedTags()
        var left: [(name: Name, file: ListedFile)] = []
        let files = try changing { () throws(StoreError) in try directory.files() }
        for file in files {
            if let key = OriginKey(path: file.key), key == key.name {
                left.append((key, file))
            } else {
                try takeOver(file, tags[file.key])
            }
        }
        left.sort { $0.file.modifiedAt < $1.file.modifiedAt }
        state.withLock { state in
            for (name, file) in left { state.index.add(name, byteCount: file.byteCount, .left) }
        }
    }
}

/// Keeps files in a mirror as long as it lives: they are being sent, or about to be.
package final class MirrorHold: Sendable {
    private let names: [OriginKey]
    private let cache: MirrorCache

    fileprivate init(_ names: [OriginKey], _ cache: MirrorCache) {
        self.names = names
        self.cache = cache
    }

    deinit { cache.unpin(names) }
}
