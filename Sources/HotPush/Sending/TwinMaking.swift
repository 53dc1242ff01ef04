import Archives
import CASStore
import Storage
import VersionTree

/// Makes facts of objects and their twins on this machine, for an origin; each once.
///
/// They are made where packs are. Belongs to one thread.
final class TwinMaking {
    private let versions: VersionStore?
    private let storage: any ObjectStorage
    private let options: PublisherOptions
    /// Whether twins are kept to be sent.
    private let keepsTwins: Bool
    private var place: PackingPlace?
    /// What was made, by object.
    private(set) var made: [ObjectID: ObjectFacts] = [:]
    /// The object that each twin was made from.
    private var owners: [ObjectID: ObjectID] = [:]

    /// - Parameter keepsTwins: whether they are to be sent; otherwise nothing is left anywhere.
    init(
        _ versions: VersionStore?, _ storage: any ObjectStorage, _ options: PublisherOptions,
        keepsTwins: Bool = true
    ) {
        self.versions = versions
        self.storage = storage
        self.options = options
        self.keepsTwins = keepsTwins
    }

    /// Makes what was not made yet.
    ///
    /// - Parameters:
    ///   - objects: sorted by address.
    ///   - standing: where those stand in the origin that the store may lack; empty if it has all.
    /// - Throws: `.missingObject`, `.damagedObject`; `.interrupted`; what reading and writing throws.
    func make(
        _ objects: [Reference], standing: [ObjectID: Int64] = [:]
    ) throws(StoreError) {
        let lacking = objects.filter { made[$0.address] == nil }
        guard !lacking.isEmpty else { return }
        let home = PackingHome(versions, storage, options)
        if place == nil, keepsTwins { place = try home.openPlace() }
        let fetched = try fetch(lacking, standing)
        let source = PackSource(
            versions?.store, origin: fetched, home.fileSystem,
            absence: "neither in the store nor in the origin")
        let new = try FactsMaking(
            source, in: place?.work.raw, home.fileSystem, options,
            byteCount: lacking.reduce(0) { $0.addingClamped($1.byteCount) }
        ).run(lacking)
        for object in new {
            made[object.address] = object
            if let twin = object.twin { owners[twin.address] = object.address }
        }
        withExtendedLifetime(fetched) {}
    }

    private func fetch(
        _ objects: [Reference], _ standing: [ObjectID: Int64]
    ) throws(StoreError) -> OpenedDirectory? {
        guard let place, !standing.isEmpty else { return nil }
        var wanted: [SizedKey] = []
        for object in objects {
            guard let epoch = standing[object.address],
                try versions?.store.objects.open(object.address) == nil
            else { continue }
            wanted.append(
                SizedKey(
                    key: OriginKey(.object, object.address, in: epoch),
                    byteCount: object.byteCount))
        }
        return try BaseFetching(wanted, storage, options).run(
            into: place, saying: "what the store here lacks")
    }

    /// Opens the file of a twin that was made.
    static func open(
        _ twin: ObjectID, in place: PackingPlace, _ owners: [ObjectID: ObjectID]
    ) throws(StoreError) -> Descriptor {
        let name = FactsMaking.twinName(of: owners[twin] ?? twin)
        return try place.fileSystem.open(place.work.raw, name, .reading, mode: 0)
    }

    /// Sends twins that were made.
    func send(_ twins: [SizedKey], _ seen: SeenFiles) throws(StoreError) {
        guard let place, !twins.isEmpty else { return }
        let owners = owners
        try FileSending(of: twins.byteCount, seen, options).run(twins) {
            (wanted) throws(StoreError) in
            try Self.open(wanted.key.address, in: place, owners)
        }
    }

    /// Removes what was made: whoever cleans up after packs finds nobody at work.
    func close() { place = nil }

    /// The twin of an open file, in memory; `nil` if this zlib gives another one.
    static func twin(
        _ address: ObjectID, _ byteCount: Int64, of file: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [UInt8]? {
        let deflater = try Deflater()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var twin: [UInt8] = []
        twin.reserveCapacity(Int(byteCount))
        try fileSystem.forEachPiece(of: file, buffer: buffer) { (piece) throws(StoreError) in
            try deflater.add(piece) { (bytes) throws(StoreError) in twin += bytes }
        }
        _ = try deflater.finish { (bytes) throws(StoreError) in twin += bytes }
        guard twin.count == byteCount, try ObjectID(of: twin) == address else { return nil }
        return twin
    }
}
