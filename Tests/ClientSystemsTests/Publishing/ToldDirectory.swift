import CASStore
import Foundation
import HotPush
import StorageTestSupport

/// What stands below an origin's `for/`, to be read and forged: nothing of it goes through the log.
struct ToldDirectory: ToldOrigin {
    let path: String
    var notice: @Sendable (String) -> Void { { _ in } }

    func hasClients() -> Bool { true }

    func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        do { return Array(try Data(contentsOf: URL(filePath: self.path + "/" + path))) } catch {
            return nil
        }
    }

    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        do { try Damage.overwriteOrCreate(self.path + "/" + path, with: bytes) } catch {
            throw StoreError(.io, "\(error)")
        }
    }

    func remove(_ path: String) { Damage.remove(self.path + "/" + path) }
    func goBack(from path: String, where isRead: ([UInt8]) -> Bool) -> Bool { false }

    func write(
        document bytes: [UInt8], _ address: ObjectID, of system: String, in epoch: Int64?
    ) throws(StoreError) -> Int64 {
        try replace(
            OriginLayout.clientDocument(address, of: system, in: epoch ?? 0), with: bytes)
        return epoch ?? 0
    }

    func has(
        document address: ObjectID, _ byteCount: Int64, in epoch: Int64, of system: String
    ) -> Bool { true }

    func content(of release: OfferedRelease) -> (any ToldRelease)? { nil }
}
