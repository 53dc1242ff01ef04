import Archives
import CASStore
import HotPush
import Synchronization

/// What offers are made from before anything is written: the objects of a store, and twins that are made as they are read.
final class StoreContent: ReleaseReading {
    private let store: Store
    private let objects: [ObjectID: ObjectFacts]
    /// The object that each twin is made from.
    private let owners: [ObjectID: ObjectFacts]
    /// An archive's pieces come in order: the twin that was read last is read again.
    private let last = Mutex<(address: ObjectID, bytes: [UInt8])?>(nil)

    /// - Parameter facts: what is known of the release's objects.
    init(_ store: Store, _ facts: ContentFacts) {
        self.store = store
        var (objects, owners): ([ObjectID: ObjectFacts], [ObjectID: ObjectFacts]) = ([:], [:])
        for object in facts.objects {
            objects[object.address] = object
            if let twin = object.twin { owners[twin.address] = object }
        }
        (self.objects, self.owners) = (objects, owners)
    }

    func object(_ address: ObjectID) throws(StoreError) -> [UInt8] {
        guard let byteCount = objects[address]?.byteCount, byteCount <= objectByteCountMax else {
            throw store.missingObject(address)
        }
        let bytes = try read(address, 0..<byteCount)
        guard try ObjectID(of: bytes) == address else {
            throw StoreError(
                .damagedObject,
                "the bytes of object \(address) do not match its address; run castree fsck --repair",
                object: address)
        }
        return bytes
    }

    func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8] {
        switch piece {
        case .bytes(let bytes): return bytes
        case .object(let address, let range, _): return try read(address, range)
        case .twin(let address, let range, _):
            return Array(try twin(address)[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    private func read(
        _ address: ObjectID, _ range: Range<Int64>
    ) throws(StoreError) -> [UInt8] {
        guard let file = try store.objects.open(address) else {
            throw store.missingObject(address)
        }
        return try store.fileSystem.read(
            file.raw, at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    }

    private func twin(_ address: ObjectID) throws(StoreError) -> [UInt8] {
        if let last = last.withLock({ $0 }), last.address == address { return last.bytes }
        guard let owner = owners[address], let file = try store.objects.open(owner.address)
        else { throw store.missingObject(address) }
        let deflater = try Deflater()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var twin: [UInt8] = []
        try store.fileSystem.forEachPiece(of: file.raw, buffer: buffer) {
            (piece) throws(StoreError) in
            try deflater.add(piece) { (bytes) throws(StoreError) in twin += bytes }
        }
        _ = try deflater.finish { (bytes) throws(StoreError) in twin += bytes }
        guard twin.count == owner.twin.map({ Int($0.byteCount) }) else {
            throw store.missingObject(owner.address)
        }
        let made = twin
        last.withLock { $0 = (address, made) }
        return made
    }
}
