package import Platform
import Synchronization

// Which copies are there, who keeps them, and what goes.
extension CachedStorage {
    /// Whether a copy is there that was compared with its name.
    package func has(_ name: String) -> Bool {
        state.withLock { $0.copies.isProven(name) ?? false }
    }

    /// Keeps copies, whether they are there or still come.
    package func pin(_ names: [String]) -> CacheHold { CacheHold(names, self) }

    /// Keeps copies, if all are there.
    package func pin(allOf names: [String]) -> CacheHold? {
        // Whether they are is known once they are kept.
        let hold = CacheHold(names, self)
        return state.withLock { $0.copies.hasAll(names) } ? hold : nil
    }

    /// Removes a copy that is not what its name says: it comes anew when it is asked for.
    package func drop(_ name: String) throws(StoreError) { try remove(name) { _ in true } }

    /// Whether a copy is there and is what its name says; what an earlier process has left is compared with it now.
    package func proves(_ file: NamedFile) throws(StoreError) -> Bool {
        guard let isProven = state.withLock({ $0.copies.isProven(file.name) }) else { return false }
        if isProven { return true }
        // One that is too large or cannot be read is fetched anew like one with other bytes.
        let found = try? copies.address(of: file.name, limit: file.byteCountMax) { _ in }
        guard found == file.address else {
            // Another thread may have found that, and had it come anew.
            try remove(file.name) { $0.isProven(file.name) == false }
            return false
        }
        state.withLock { $0.copies.prove(file.name) }
        return true
    }

    // MARK: Room

    /// Removes what is too much, if it may go.
    package func trim(to limit: Int64? = nil) throws(StoreError) {
        let limit = limit ?? options.byteCount
        for name in state.withLock({ $0.copies.leaving(limit) }) {
            // Somebody may need it since.
            try remove(name) { $0.mayGo(name) }
        }
    }

    /// Removes a copy, so that nobody relies on it from then on.
    private func remove(
        _ name: String, where isToGo: (CopyIndex) -> Bool
    ) throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        let goes = state.withLock { state in
            guard isToGo(state.copies) else { return false }
            state.copies.remove(name)
            return true
        }
        if goes { try copies.remove(name) }
    }

    /// Does what changes the disk; makes room once if that is full, and says what is wrong in the owner's words.
    func changing<Value>(
        _ change: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            do throws(StoreError) { return try change() } catch {
                guard error.code == .outOfSpace else { throw error }
                // A quarter of what may go: the disk is fuller than the limit says.
                try trim(to: state.withLock { $0.copies.room } / 4 * 3)
                return try change()
            }
        } catch {
            throw options.advise(error)
        }
    }

    // MARK: What is there at the start

    /// Takes what earlier processes have left; nothing goes until it is known what must stay.
    package func begin(with files: [ListedFile]) {
        let tags = notedTags()
        // The newest are to be used last.
        for file in files.sorted(by: { $0.modifiedAt < $1.modifiedAt }) {
            guard let named = options.naming(file.key), named.name == file.key else {
                takeOver(file.key, tags[file.key])
                continue
            }
            state.withLock {
                $0.copies.add(file.key, byteCount: file.byteCount, isProven: false)
            }
        }
    }
}

/// Keeps files in a cache as long as it lives: they are being sent, or about to be.
package final class CacheHold: Sendable {
    /// Where their copies stand.
    package let names: [String]
    private let cache: CachedStorage

    fileprivate init(_ names: [String], _ cache: CachedStorage) {
        (self.names, self.cache) = (names, cache)
        cache.state.withLock { $0.copies.pin(names) }
    }

    deinit { cache.state.withLock { $0.copies.pin(names, -1) } }
}
