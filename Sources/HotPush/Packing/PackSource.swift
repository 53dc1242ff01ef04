import CASStore
import VersionTree

/// Reads what packs are made of: objects from a store or else from an origin, and texts that are at hand.
///
/// All bytes that it returns match their addresses: a frame with a wrong prefix would be of use to nobody.
final class PackSource: Sendable {
    /// `nil` if only the origin is asked.
    private let store: Store?
    private let fileSystem: any FileSystem
    /// The origin's `objects/`, or what was fetched of them; `nil` if there is none.
    private let objects: OpenedDirectory?
    /// Where an object is that is not here, for people.
    let absence: String
    /// What is no object: manifests, and the prefixes for them.
    private let texts: [ObjectID: [UInt8]]

    init(
        _ store: Store?, origin objects: OpenedDirectory?, _ fileSystem: any FileSystem,
        absence: String = "neither in the store nor in the origin",
        texts: [ObjectID: [UInt8]] = [:]
    ) {
        self.absence = absence
        self.store = store
        self.objects = objects
        self.fileSystem = fileSystem
        self.texts = texts
    }

    /// The same, with texts.
    func adding(_ texts: [ObjectID: [UInt8]]) -> PackSource {
        PackSource(store, origin: objects, fileSystem, absence: absence, texts: texts)
    }

    /// The bytes of an object; `nil` if neither the store nor the origin has them.
    func read(_ object: Reference) throws(StoreError) -> [UInt8]? {
        if let text = texts[object.address] { return text }
        for place in Place.allCases {
            guard let file = try open(object.address, place) else { continue }
            let bytes = try fileSystem.read(file.raw, at: 0, count: Int(object.byteCount))
            if bytes.count == object.byteCount, try ObjectID(of: bytes) == object.address {
                return bytes
            }
        }
        return nil
    }

    /// Calls `body` with the bytes of an object, piece by piece, in order.
    ///
    /// The caller holds them against the address.
    func forEachPiece(
        of object: Reference, buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        if let text = texts[object.address] {
            return try text.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try body(bytes)
            }
        }
        for place in Place.allCases {
            guard let file = try open(object.address, place),
                try fileSystem.status(file.raw).byteCount == object.byteCount,
                try isRight(object, place)
            else { continue }
            try fileSystem.forEachPiece(of: file.raw, buffer: buffer, body)
            return
        }
        throw missing([object])
    }

    /// The error for objects of which one cannot be read.
    func missing(_ objects: [Reference]) -> StoreError {
        for object in objects {
            // Whatever keeps it from being read, it is this one.
            if (try? read(object)) ?? nil == nil { return missing(object.address) }
        }
        return missing(objects.first?.address ?? .zero)
    }

    private func missing(_ address: ObjectID) -> StoreError {
        guard let store else {
            return .damagedOrigin(
                "object \(address) is \(absence); castree publish --verify repairs its version",
                object: address)
        }
        // Whatever keeps it from being looked at, it cannot be read.
        let isThere = (try? store.contains(address)) ?? true
        return isThere ? store.touchedObject(address) : store.missingObject(address)
    }

    private enum Place: CaseIterable { case store, origin }

    /// Whether the store's object is as castree wrote it: the origin may have what another program has changed here.
    private func isRight(_ object: Reference, _ place: Place) throws(StoreError) -> Bool {
        guard let store, place == .store else { return true }
        return try store.objects.isRight(object.address, byteCount: object.byteCount) ?? false
    }

    private func open(_ address: ObjectID, _ place: Place) throws(StoreError) -> Descriptor? {
        // Something else stands in its place: it is not here.
        if place == .store {
            return try allowing(Self.saysItIsNone, try store?.objects.open(address))
        }
        guard let objects else { return nil }
        return try allowing(
            { $0.code == .notFound || Self.saysItIsNone($0) },
            try fileSystem.openBeneath(objects.raw, StoreLayout.objectPath(address), .reading))
    }

    private static func saysItIsNone(_ error: StoreError) -> Bool {
        error.code == .damagedObject || error.isNotDirectory
    }
}
