package import CASStore
package import Storage

/// The kind, address and epoch of an immutable file of an origin.
package struct OriginKey: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case object, manifest, places, pack, delivery, deflatedCopy, facts
        /// Sent to a system's clients verbatim.
        case document(of: AnnouncedSystem)
        /// Led from an older manifest. Castree makes none today, so they take no space in the other cases.
        indirect case delta(from: ObjectID)
    }

    package let kind: Kind
    package let address: ObjectID
    package let epoch: Int64

    /// - Parameter epoch: the first if it does not matter, as in a directory.
    package init(_ kind: Kind, _ address: ObjectID, in epoch: Int64 = 0) {
        self.kind = kind
        self.address = address
        self.epoch = epoch
    }

    /// The same file in whatever epoch.
    package var name: OriginKey { OriginKey(kind, address) }

    package var path: String { OriginLayout.path(kind, address, in: epoch) }

    /// The directory of all objects, deflated copies or packs of an epoch.
    package static func prefix(of kind: Kind, in epoch: Int64) -> String {
        switch kind {
        case .deflatedCopy: OriginLayout.prefix(OriginLayout.deflatedCopies, in: epoch)
        case .pack: OriginLayout.prefix(OriginLayout.packs, in: epoch)
        default: OriginLayout.prefix(OriginLayout.objects, in: epoch)
        }
    }

    /// Returns `nil` for other paths.
    package init?(path: String) {
        guard let (epoch, rest) = OriginLayout.epoch(of: path) else { return nil }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let digits = parts.dropFirst().joined()
        let kind: Kind
        var address =
            parts.count == 3 ? ObjectID(digits) : OriginLayout.address(ofManifestFile: digits)
        switch (parts.first, parts.count) {
        case (OriginLayout.objects, 3): kind = .object
        case (OriginLayout.packs, 3): kind = .pack
        case (OriginLayout.deflatedCopies, 3): kind = .deflatedCopy
        case (OriginLayout.facts, 2): kind = .facts
        case (OriginLayout.places, 2): kind = .places
        case (OriginLayout.deliveries, 2): kind = .delivery
        case (OriginLayout.clients, 4):
            guard let system = AnnouncedSystem(parts[1]) else { return nil }
            (kind, address) = (.document(of: system), ObjectID(parts[3]))
        case (OriginLayout.manifests, 2):
            if let delta = OriginLayout.delta(ofFile: digits) {
                (kind, address) = (.delta(from: delta.base), delta.manifest)
            } else {
                kind = .manifest
            }
        default: return nil
        }
        guard let address else { return nil }
        self.init(kind, address, in: epoch)
        // Other spellings of the path are not castree's.
        guard self.path == path else { return nil }
    }
}

/// An immutable file of an origin and its size, if known.
package struct PlacedFile: Sendable, Hashable {
    package let key: OriginKey
    package let byteCount: Int64?

    package init(_ key: OriginKey, byteCount: Int64? = nil) {
        self.key = key
        self.byteCount = byteCount
    }

    package init(_ file: SizedKey) { self.init(file.key, byteCount: file.byteCount) }

    package var name: OriginKey { key.name }

    /// Returns `nil` for a file that is not named by its bytes.
    package init?(_ file: ServedFile) {
        guard case .addressed = file.identity, let key = OriginKey(path: file.path) else {
            return nil
        }
        self.init(key)
    }
}

extension OriginKey {
    /// The largest document for another system's clients, which a server keeps in memory.
    package static let documentByteCountMax: Int64 = 16 << 20

    /// The largest file of its kind that is read, in bytes.
    package var byteCountMax: Int64 {
        switch kind {
        // More than the 5 TiB that S3 allows.
        case .object, .deflatedCopy, .pack: 8 << 40
        case .manifest, .delta: Int64(OriginLayout.manifestByteCountMax)
        case .facts: Int64(ContentFacts.byteCountMax)
        case .places: Places.byteCountMax
        case .delivery: Delivery.byteCountMax
        case .document: Self.documentByteCountMax
        }
    }
}

extension OriginKey.Kind {
    /// Whether every check reads it, because it names other files.
    package var isRead: Bool {
        switch self {
        case .manifest, .places, .delivery, .facts, .delta: true
        case .object, .pack, .deflatedCopy, .document: false
        }
    }
}

extension OriginKey {
    package var fields: StoredFields {
        switch kind {
        case .object, .pack, .deflatedCopy, .document: .object
        case .manifest, .places, .delivery, .facts, .delta: .document
        }
    }
}

package struct SizedKey: Sendable, Hashable {
    package let key: OriginKey
    package let byteCount: Int64

    package init(key: OriginKey, byteCount: Int64) {
        self.key = key
        self.byteCount = byteCount
    }

    package init(_ kind: OriginKey.Kind, _ address: ObjectID, in epoch: Int64, _ byteCount: Int64) {
        self.init(key: OriginKey(kind, address, in: epoch), byteCount: byteCount)
    }

    var reference: Reference { Reference(address: key.address, byteCount: byteCount) }
}

extension Sequence<SizedKey> {
    package var byteCount: Int64 { reduce(0) { $0.addingClamped($1.byteCount) } }
}

package struct FileFigures: Sendable, Hashable {
    package var count = 0
    package var byteCount: Int64 = 0

    package init() {}

    package mutating func add(_ byteCount: Int64) {
        count += 1
        self.byteCount = self.byteCount.addingClamped(byteCount)
    }

    package static func + (left: FileFigures, right: FileFigures) -> FileFigures {
        var sum = left
        sum.count += right.count
        sum.byteCount = sum.byteCount.addingClamped(right.byteCount)
        return sum
    }
}

extension ObjectID {
    package init(of bytes: [UInt8]) throws(StoreError) {
        var hasher = try ObjectHasher()
        self = bytes.withUnsafeBytes { hasher.hash($0).address }
    }
}

/// A file of an origin that devices may ask a server for; all others are the publisher's own.
package struct ServedFile: Sendable, Hashable {
    package let path: String
    package let identity: Identity
    /// Above 0 only in a bucket, and in a copy of one.
    package let epoch: Int64

    /// What never changes about a file.
    package enum Identity: Sendable, Hashable {
        /// It is named by the SHA-256 of its bytes.
        case addressed(ObjectID)
        /// Its bytes never change, but do not name it.
        case constant
        /// Nothing: pointers and their list.
        case changing
    }

    /// Whether its bytes are JSON; otherwise they are content.
    package var isDocument: Bool { path.hasSuffix(OriginLayout.suffix) }

    /// Returns `nil` for a path of no such file; only one spelling counts, without escapes or a leading slash.
    package init?(_ path: String) {
        guard let epoch = OriginLayout.epoch(of: path)?.epoch,
            let identity = Self.identity(of: path, in: epoch)
        else { return nil }
        self.path = path
        self.identity = identity
        self.epoch = epoch
    }

    package var channel: ChannelName? { OriginLayout.channel(ofPointer: path) }

    private static func identity(of path: String, in epoch: Int64) -> Identity? {
        if let key = OriginKey(path: path) {
            switch key.kind {
            case .object, .pack, .delivery, .manifest: return .addressed(key.address)
            case .places: return epoch > 0 ? .addressed(key.address) : nil
            case .delta: return .constant
            case .deflatedCopy, .facts, .document: return nil
            }
        }
        // All other files are outside of epochs.
        guard epoch == 0 else { return nil }
        if [OriginLayout.marker, OriginLayout.channelList].contains(path)
            || OriginLayout.channel(ofPointer: path) != nil
        {
            return .changing
        }
        return OriginLayout.isTrust(path) ? .constant : nil
    }
}
