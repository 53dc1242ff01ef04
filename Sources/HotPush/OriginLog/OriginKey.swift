import CASStore
import Storage

/// A file of an origin that never changes: what it is, and the epoch it was written in.
struct OriginKey: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case object, manifest, places, pack, delivery, twin, facts
        /// What is sent to the clients of a system as it stands.
        case document(of: ToldSystem)
        /// What led from an older manifest; nobody makes them any more.
        case delta(from: ObjectID)
    }

    let kind: Kind
    let address: ObjectID
    let epoch: Int64

    init(_ kind: Kind, _ address: ObjectID, in epoch: Int64) {
        self.kind = kind
        self.address = address
        self.epoch = epoch
    }

    /// Its path below the origin.
    var path: String {
        switch kind {
        case .object: OriginLayout.object(address, in: epoch)
        case .manifest: OriginLayout.manifest(address, in: epoch)
        case .places: OriginLayout.places(address, in: epoch)
        case .pack: OriginLayout.pack(address, in: epoch)
        case .delivery: OriginLayout.delivery(address, in: epoch)
        case .twin: OriginLayout.twin(address, in: epoch)
        case .facts: OriginLayout.facts(address, in: epoch)
        case .document(let system):
            OriginLayout.clientDocument(address, of: system.description, in: epoch)
        case .delta(let base): OriginLayout.delta(to: address, from: base)
        }
    }

    /// Below which all objects, twins or packs of an epoch stand.
    static func prefix(of kind: Kind, in epoch: Int64) -> String {
        switch kind {
        case .twin: OriginLayout.twinsPrefix(in: epoch)
        case .pack: OriginLayout.packsPrefix(in: epoch)
        default: OriginLayout.objectsPrefix(in: epoch)
        }
    }

    /// What a path means; `nil` if it is not one of these.
    init?(path: String) {
        guard let (epoch, rest) = OriginLayout.epoch(of: path) else { return nil }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let digits = parts.dropFirst().joined()
        switch (parts.first, parts.count) {
        case (OriginLayout.objects, 3):
            guard let address = ObjectID(digits) else { return nil }
            self.init(.object, address, in: epoch)
        case (OriginLayout.packs, 3):
            guard let address = ObjectID(digits) else { return nil }
            self.init(.pack, address, in: epoch)
        case (OriginLayout.twins, 3):
            guard let address = ObjectID(digits) else { return nil }
            self.init(.twin, address, in: epoch)
        case (OriginLayout.facts, 2):
            guard let address = OriginLayout.address(ofManifestFile: digits) else { return nil }
            self.init(.facts, address, in: epoch)
        case (OriginLayout.clients, 4):
            guard let system = ToldSystem(parts[1]), let address = ObjectID(parts[3]) else {
                return nil
            }
            self.init(.document(of: system), address, in: epoch)
        case (OriginLayout.manifests, 2):
            if let delta = OriginLayout.delta(ofFile: digits) {
                self.init(.delta(from: delta.base), delta.manifest, in: epoch)
            } else {
                guard let address = OriginLayout.address(ofManifestFile: digits) else { return nil }
                self.init(.manifest, address, in: epoch)
            }
        case (OriginLayout.places, 2):
            guard let address = OriginLayout.address(ofManifestFile: digits) else { return nil }
            self.init(.places, address, in: epoch)
        case (OriginLayout.deliveries, 2):
            guard let address = OriginLayout.address(ofManifestFile: digits) else { return nil }
            self.init(.delivery, address, in: epoch)
        default: return nil
        }
        // One spelling only: what is spelled otherwise is not ours.
        guard self.path == path else { return nil }
    }
}

extension OriginKey.Kind {
    /// Whether every check reads it: it names others.
    var isRead: Bool {
        switch self {
        case .manifest, .places, .delivery, .facts, .delta: true
        case .object, .pack, .twin, .document: false
        }
    }
}

extension OriginKey {
    /// What it is stored with.
    var fields: StoredFields {
        switch kind {
        case .object, .pack, .twin, .document: .object
        case .manifest, .places, .delivery, .facts, .delta: .document
        }
    }
}

/// A file of an origin, and how many bytes it has.
struct SizedKey: Sendable, Hashable {
    let key: OriginKey
    let byteCount: Int64
}

extension Sequence<SizedKey> {
    /// Their bytes.
    var byteCount: Int64 { reduce(0) { $0.addingClamped($1.byteCount) } }
}
