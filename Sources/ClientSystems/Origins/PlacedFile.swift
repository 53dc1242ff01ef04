package import HotPush
package import Platform

/// A file of an origin in a bucket that never changes, and the epoch in which it stands there.
package struct PlacedFile: Sendable, Hashable {
    /// What is known of a file besides the SHA-256 of its bytes.
    package enum Kind: Sendable, Hashable {
        case object, twin, manifest, facts, places, pack, delivery
        case document(ClientSystem)

        static let all: [Self] =
            [.object, .twin, .manifest, .facts, .places, .pack, .delivery]
            + ClientSystem.allCases.map { .document($0) }
    }

    /// Which file: in a directory this alone is its path.
    package struct Name: Sendable, Hashable {
        /// The SHA-256 of its bytes.
        package let address: ObjectID
        /// What it is.
        package let kind: Kind

        package init(_ kind: Kind, _ address: ObjectID) {
            self.kind = kind
            self.address = address
        }

        /// Its path in an origin where it stands in an epoch.
        package func path(in epoch: Int64) -> String {
            switch kind {
            case .object: OriginLayout.object(address, in: epoch)
            case .twin: OriginLayout.twin(address, in: epoch)
            case .manifest: OriginLayout.manifest(address, in: epoch)
            case .facts: OriginLayout.facts(address, in: epoch)
            case .places: OriginLayout.places(address, in: epoch)
            case .pack: OriginLayout.pack(address, in: epoch)
            case .delivery: OriginLayout.delivery(address, in: epoch)
            case .document(let system):
                OriginLayout.clientDocument(address, of: system.rawValue, in: epoch)
            }
        }

        /// Its path in a directory.
        var path: String { path(in: 0) }

        /// The largest file of its kind that is read, in bytes.
        var byteCountMax: Int64 {
            switch kind {
            case .object, .twin, .pack: Self.contentByteCountMax
            case .manifest: Int64(OriginLayout.manifestByteCountMax)
            case .facts: Int64(ContentFacts.byteCountMax)
            case .places: Places.byteCountMax
            case .delivery: Delivery.byteCountMax
            case .document: ClientDocument.byteCountMax
            }
        }

        /// More than S3 lets a file have (5 TiB).
        private static let contentByteCountMax: Int64 = 8 << 40
    }

    /// Which file.
    package let name: Name
    /// The epoch in which it stands.
    package let epoch: Int64
    /// The number of its bytes; `nil` if nobody says it.
    package let byteCount: Int64?

    package init(_ name: Name, in epoch: Int64 = 0, byteCount: Int64? = nil) {
        self.name = name
        self.epoch = epoch
        self.byteCount = byteCount
    }

    /// Where it stands below the bucket's prefix.
    package var key: String { name.path(in: epoch) }

    /// The file that stands at a path in a bucket; `nil` for one that is not named by its bytes.
    init?(key: String) {
        guard let (epoch, path) = OriginLayout.epoch(of: key) else { return nil }
        let digits = path.split(separator: "/").suffix(2).joined().prefix { $0 != "." }.suffix(64)
        guard let address = ObjectID(String(digits)),
            let kind = Kind.all.first(where: { Name($0, address).path == path })
        else { return nil }
        self.init(Name(kind, address), in: epoch)
    }

    /// The file that a path leads to; `nil` for one that is not named by its bytes.
    package init?(_ file: ServedFile) {
        guard case .addressed = file.identity else { return nil }
        self.init(key: file.path)
    }
}
