package import CASStore
import Synchronization

/// Who knows files besides the objects that should have an object's bytes: those of trees.
package protocol ObjectCopies: Sendable {
    /// Files that should have the bytes of `object`, the likeliest first; ``ObjectCopy/triedMax`` of them
    /// are tried.
    func copies(of object: ObjectID) -> [ObjectCopy]
    /// Told that a copy is served, once for each object, and why: the object's own error.
    func replaced(_ failure: StoreError, by copy: String)
}

/// A file that should have the bytes of an object.
package struct ObjectCopy: Sendable {
    /// How many are tried for an object that cannot be had.
    package static let triedMax = 8

    /// Where it stands, for people.
    package let name: String
    /// Opens it; `nil` if it is not there.
    package let open: @Sendable () throws(StoreError) -> ObjectReader?
}

// What is served where an object is missing or is not what its address says.
extension ContentCache {
    /// Of so many objects is told that a copy took their place.
    private static let toldMax = 1000

    /// The content of another file with an object's bytes, verified as the object's would be.
    ///
    /// - Throws: `failure`, if there is none.
    func copy(
        of object: ObjectID, _ size: Int64, mayEnter: Bool, insteadOf failure: StoreError
    ) throws(StoreError) -> ObjectContent {
        for copy in copies?.copies(of: object).prefix(ObjectCopy.triedMax) ?? [] {
            // A copy that cannot be read is none: the error to report is the object's.
            guard let reader = try? copy.open() else { continue }
            let open = OpenObject(reader, OpenObject.Copied(name: copy.name, failure: failure))
            guard let stamp = try? open.currentStamp(), stamp.byteCount == size else { continue }
            if mayEnter {
                // Small: as the object itself it is read whole, and kept in memory.
                guard let bytes = try? open.verifiedBytes() else { continue }
                enter(object, bytes)
                tellIfCopy(open)
                return .memory(bytes)
            }
            let known = state.withLock { $0.verdicts.value(of: object)?[stamp] }
            guard known?.failure == nil else { continue }
            let verdict = keep(open, stamp)
            if verdict == nil, size > Int64(limits.verifiedAtOnce) { return unverified(open) }
            guard (verdict ?? inspect(open, stamp)).failure == nil else {
                state.withLock { $0.opened.remove(object) }
                continue
            }
            tellIfCopy(open)
            return .file(open)
        }
        // A disk that failed is asked again the next time; not before, or who waits would wait for ever.
        state.withLock { $0.forgetFailedReads(of: object) }
        throw failure
    }

    /// Tells of an object whose place another file has taken, once, and of a bounded number.
    func tellIfCopy(_ open: OpenObject) {
        guard let copied = open.copied else { return }
        let isNews = state.withLock { state in
            state.replaced.count < Self.toldMax && state.replaced.insert(open.address).inserted
        }
        if isNews { copies?.replaced(copied.failure, by: copied.name) }
    }
}
