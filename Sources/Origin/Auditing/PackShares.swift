import CASStore
import HotPush
import Storage
import Synchronization
import VersionTree
import Zstandard

/// Reads from the tables of an origin's packs what each codec does in them.
///
/// Only for people: what cannot be read, or is wrong, is left out, and a check says more about it.
struct PackShares {
    private let storage: any ObjectStorage

    init(_ storage: any ObjectStorage) { self.storage = storage }

    /// - Parameter deliveries: by address.
    /// - Returns: by the address of the pack.
    /// - Throws: what reading throws, except a refusal.
    func read(
        _ deliveries: [ObjectID: Delivery], of state: OriginState
    ) throws(StoreError) -> [ObjectID: [CodecShare]] {
        var works:
            [(pack: Delivery.Pack, epoch: Int64, objects: NumberedObjects, manifest: Int64)] = []
        for release in Set(state.pointers.values.flatMap(\.liveReleases)) {
            guard let published = release.delivery, let delivery = deliveries[published.address],
                let manifest = try allowing(
                    ReleaseFiles.isHarmless, try ReleaseFiles(release, storage, nil).manifest())
            else { continue }
            let objects = NumberedObjects(of: manifest)
            for pack in delivery.packs {
                works.append((pack, published.epoch, objects, release.version.manifestByteCount))
            }
        }
        let all = works
        let found = Mutex<[ObjectID: [CodecShare]]>([:])
        try storage.inParallel(all.count) { (index) throws(StoreError) in
            let (pack, epoch, objects, manifest) = all[index]
            let shares = try allowing(
                { ReleaseFiles.isHarmless($0) || $0.code == .badPack },
                try self.shares(of: pack, in: epoch, objects, manifest: manifest))
            found.withLock { $0[pack.address] = shares ?? nil }
        }
        return found.withLock { $0 }
    }

    private func shares(
        of pack: Delivery.Pack, in epoch: Int64, _ objects: NumberedObjects, manifest: Int64
    ) throws(StoreError) -> [CodecShare]? {
        let request = ReadRequest(
            range: 0..<pack.openingByteCount, byteCountMax: pack.openingByteCount)
        let key = OriginKey(.pack, pack.address, in: epoch)
        let (outcome, bytes) = try storage.bytes(key.path, request)
        guard case .found = outcome, bytes.count > PackHead.byteCount else { return nil }
        let head = try PackHead(
            parsing: Array(bytes[..<PackHead.byteCount]), packByteCount: pack.byteCount)
        guard head.framesStart <= Int64(bytes.count) else { return nil }
        var table = try PackTable(
            decoding: Array(bytes[PackHead.byteCount..<Int(head.framesStart)]), head: head,
            countMax: Manifest.countMax, decoder: ZstdDecoder())
        try table.size(manifest: manifest, objects)
        return table.shares
    }
}
