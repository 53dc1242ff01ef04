import CASStore
import Synchronization

/// A file that should have the bytes of an object.
struct ObjectCopy: Sendable {
    /// How many are tried for an object that cannot be read.
    static let triedMax = 8

    let name: String
    let open: @Sendable () throws(StoreError) -> ObjectReader?
}

// Replacements for objects that are missing or do not match their address.
extension ContentCache {
    private static let toldMax = 1000

    /// The content of another file with an object's bytes, verified as the object would be.
    /// - Throws: `failure` if there is none.
    func copy(
        of object: ObjectID, _ size: Int64, mayEnter: Bool, insteadOf failure: StoreError
    ) throws(StoreError) -> ObjectContent {
        for copy in copies(object).prefix(ObjectCopy.triedMax) {
            // Skip a copy that cannot be read: the error to report is the object's.
            guard let reader = try? copy.open() else { continue }
            let open = OpenObject(reader, OpenObject.Copied(name: copy.name, failure: failure))
            guard let stamp = try? open.currentStamp(), stamp.byteCount == size else { continue }
            if mayEnter {
                // Small: read whole and kept in memory, as the object would be.
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
                _ = state.withLock { $0.opened.remove(object) }
                continue
            }
            tellIfCopy(open)
            return .file(open)
        }
        // A failed disk is read again next time, not at once, or a waiting request would wait endlessly.
        state.withLock { $0.forgetFailedReads(of: object) }
        throw failure
    }

    /// Reports, once, an object that another file replaces; up to a limited number.
    func tellIfCopy(_ open: OpenObject) {
        guard let copied = open.copied else { return }
        let isNews = state.withLock { state in
            state.replaced.count < Self.toldMax && state.replaced.insert(open.address).inserted
        }
        if isNews { replaced(copied.failure, copied.name) }
    }
}
