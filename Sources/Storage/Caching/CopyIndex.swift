package import Platform
import Synchronization

/// A value that says which copies a cache has, who needs them, and which go first; its owner applies it to the disk.
struct CopyIndex: Sendable {
    private struct Entry: Sendable {
        /// Its space on the disk, in whole units of 4 KiB.
        var space: Int64
        var usedAt: UInt64
        var isProven: Bool
    }

    /// This many entries take about 20 MB of memory; an archive has at most 65,535 files.
    static let fileCountMax = 90_000

    private var entries: [String: Entry] = [:]
    /// How many users a copy has, whether it exists or is still to come.
    private var pins: [String: Int] = [:]
    private var clock: UInt64 = 0
    /// The space of all files, including those that change.
    var space: Int64 = 0

    var count: Int { entries.count }

    func isProven(_ name: String) -> Bool? { entries[name]?.isProven }

    func hasAll(_ names: [String]) -> Bool {
        names.allSatisfy { entries[$0]?.isProven ?? false }
    }

    mutating func add(_ name: String, byteCount: Int64, isProven: Bool) {
        remove(name)
        clock += 1
        let units = (byteCount + 4095) / 4096
        entries[name] = Entry(space: units * 4096, usedAt: clock, isProven: isProven)
        space += units * 4096
    }

    /// Notes that a copy matches its name, unless it has gone since.
    mutating func prove(_ name: String) { entries[name]?.isProven = true }

    mutating func remove(_ name: String) {
        if let gone = entries.removeValue(forKey: name) { space -= gone.space }
    }

    /// Pins copies, or unpins them with a `change` of -1.
    mutating func pin(_ names: [String], _ change: Int = 1) {
        clock += 1
        for name in names {
            let left = pins[name, default: 0] + change
            pins[name] = left > 0 ? left : nil
            entries[name]?.usedAt = clock
        }
    }

    func mayGo(_ name: String) -> Bool { entries[name] != nil && pins[name] == nil }

    /// The least recently used copies, whose removal brings the cache to nine tenths of the limit.
    func leaving(_ limit: Int64, count limitCount: Int = fileCountMax) -> [String] {
        var (space, count) = (space, count)
        guard space > limit || count > limitCount else { return [] }
        return entries.filter { pins[$0.key] == nil }
            .sorted { $0.value.usedAt < $1.value.usedAt }
            .prefix { _, entry in
                defer { (space, count) = (space - entry.space, count - 1) }
                return space > limit / 10 * 9 || count > limitCount * 9 / 10
            }.map(\.key)
    }
}

extension CachedStorage {
    /// Whether there is a copy that was compared with its name.
    package func has(_ name: String) -> Bool {
        state.withLock { $0.copies.isProven(name) ?? false }
    }

    /// Keeps copies, whether they exist already or are still to come.
    package func pin(_ names: [String]) -> CacheHold { CacheHold(names, self) }

    package func pin(allOf names: [String]) -> CacheHold? {
        // Only a pinned copy is certain to stay until it is checked.
        let hold = CacheHold(names, self)
        return state.withLock { $0.copies.hasAll(names) } ? hold : nil
    }

    /// Removes a copy that does not match its name; the next request fetches it again.
    package func drop(_ name: String) throws(StoreError) { try remove(name) { _ in true } }

    /// Whether a copy exists and matches its name; one that an earlier process has left is compared now.
    package func proves(_ file: NamedFile) throws(StoreError) -> Bool {
        guard let isProven = state.withLock({ $0.copies.isProven(file.name) }) else { return false }
        if isProven { return true }
        // One that is too large or cannot be read is fetched again like one with other bytes.
        let found = try? copies.address(of: file.name, limit: file.byteCountMax) { _ in }
        guard found == file.address else {
            // Another thread may have noticed that, and fetched it again.
            try remove(file.name) { $0.isProven(file.name) == false }
            return false
        }
        state.withLock { $0.copies.prove(file.name) }
        return true
    }

    // MARK: Space

    /// Removes copies beyond the limit, if they may go.
    package func trim(to limit: Int64? = nil) throws(StoreError) {
        let limit = limit ?? options.byteCount
        for name in state.withLock({ $0.copies.leaving(limit) }) {
            try remove(name) { $0.mayGo(name) }
        }
    }

    /// Removes a copy, so that nobody relies on it from then on.
    private func remove(_ name: String, where isToGo: (CopyIndex) -> Bool) throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        let goes = state.withLock { state in
            guard isToGo(state.copies) else { return false }
            state.copies.remove(name)
            return true
        }
        if goes { try copies.remove(name) }
    }

    /// Runs a change of the disk, frees space once if that is full, and throws errors in the owner's words.
    func changing<Value>(_ change: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) {
            do throws(StoreError) { return try change() } catch {
                guard error.code == .outOfSpace else { throw error }
                // A quarter of what may go: the disk is fuller than the limit says.
                try trim(to: state.withLock { $0.copies.space } / 4 * 3)
                return try change()
            }
        } catch {
            throw options.advise(error)
        }
    }

    // MARK: What is there at the start

    /// Adopts files that earlier processes have left; nothing goes until it is known what must stay.
    package func begin(with files: [ListedFile]) {
        let tags = notedTags()
        // So that the newest count as used last.
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

/// Keeps files in a cache during its lifetime, while they are sent or about to be.
package final class CacheHold: Sendable {
    package let names: [String]
    private let cache: CachedStorage

    fileprivate init(_ names: [String], _ cache: CachedStorage) {
        (self.names, self.cache) = (names, cache)
        cache.state.withLock { $0.copies.pin(names) }
    }

    deinit { cache.state.withLock { $0.copies.pin(names, -1) } }
}
