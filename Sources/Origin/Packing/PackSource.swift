import CASStore
import HotPush
import VersionTree

/// Reads what packs are made of: objects of a store or else an origin, and texts in memory.
///
/// All bytes that it returns match their addresses, because nobody could use a frame with a wrong prefix.
final class PackSource: Sendable {
    /// `nil` to read only the origin.
    private let store: Store?
    private let fileSystem: any FileSystem
    /// The origin's `objects/`, or what was fetched of them; `nil` for none.
    private let objects: OpenedDirectory?
    /// Where a missing object was looked for, for people.
    let missingReason: String
    /// Manifests and their prefixes, which are no objects.
    private let texts: [ObjectID: [UInt8]]

    init(
        _ store: Store?, origin objects: OpenedDirectory?, _ fileSystem: any FileSystem,
        missingReason: String = "neither in the store nor in the origin",
        texts: [ObjectID: [UInt8]] = [:]
    ) {
        self.missingReason = missingReason
        self.store = store
        self.objects = objects
        self.fileSystem = fileSystem
        self.texts = texts
    }

    func adding(_ texts: [ObjectID: [UInt8]]) -> PackSource {
        PackSource(store, origin: objects, fileSystem, missingReason: missingReason, texts: texts)
    }

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

    /// Calls `body` with the pieces of an object, in order, without comparing them with the address.
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

    /// The error for several objects, one of which cannot be read.
    func missing(_ objects: [Reference]) -> StoreError {
        for object in objects {
            // Any error marks this object as the unreadable one.
            if (try? read(object)) ?? nil == nil { return missing(object.address) }
        }
        return missing(objects.first?.address ?? .zero)
    }

    private func missing(_ address: ObjectID) -> StoreError {
        guard let store else {
            return .damagedOrigin(
                "object \(address) is \(missingReason); castree publish --verify repairs its version",
                object: address)
        }
        // An object that cannot be examined cannot be read.
        let isThere = (try? store.contains(address)) ?? true
        return isThere ? store.touchedObject(address) : store.missingObject(address)
    }

    private enum Place: CaseIterable { case store, origin }

    /// Whether the store's object is unaltered; otherwise the origin may have it.
    private func isRight(_ object: Reference, _ place: Place) throws(StoreError) -> Bool {
        guard let store, place == .store else { return true }
        return try store.objects.isRight(object.address, byteCount: object.byteCount) ?? false
    }

    private func open(_ address: ObjectID, _ place: Place) throws(StoreError) -> Descriptor? {
        // Something else in its place means that the store does not have it.
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
