import CASStore
import HotPush
import Storage
import Synchronization

/// A storage for checks, to which a file that cannot be read (a bad sector, missing rights) counts as lost.
///
/// Entries of the log are an exception: taking one for missing would revoke what it says.
final class PassingStorage: ForwardingStorage {
    let base: any ObjectStorage
    private let reasons = Mutex<[String: String]>([:])

    init(over base: any ObjectStorage) { self.base = base }

    var work: WorkDirectory? { base.work }

    func reason(of key: String) -> String? { reasons.withLock { $0[key] } }

    private func passing<R>(
        _ key: String, _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.saysFileIsUnreadable else { throw error }
            let reason = error.advising("").message
            guard OriginLayout.number(ofLogEntry: key) == nil else { throw .damagedOrigin(reason) }
            reasons.withLock { $0[key] = reason }
            return nil
        }
    }

    func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        try passing(key) { () throws(StoreError) in try base.get(key, request, take) } ?? .missing
    }

    func head(_ key: String) throws(StoreError) -> StoredFile? {
        try passing(key) { () throws(StoreError) in try base.head(key) }
    }

    func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?] {
        do throws(StoreError) {
            return try base.byteCounts(of: keys, unless: isInterrupted)
        } catch {
            guard error.saysFileIsUnreadable else { throw error }
            return try keys.map { (key) throws(StoreError) in try head(key)?.byteCount }
        }
    }

    func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        let outcome = try base.put(key, body, fields, if: condition)
        guard condition == .absent, outcome == .conditionFailed, reason(of: key) != nil else {
            return outcome
        }
        // An unreadable file is to be repaired, unless it can be read by now.
        reasons.withLock { $0[key] = nil }
        _ = try get(key, ReadRequest(byteCountMax: 1 << 30)) { _ in }
        return try reason(of: key) == nil ? outcome : base.put(key, body, fields)
    }
}
