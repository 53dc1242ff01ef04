package import CASStore
import StrictJSON
package import VersionTree

/// Where the content of a file is in the store.
package struct FetchedContent: Sendable, Hashable {
    package var address: ObjectID
    package var byteCount: Int64
    /// The entity tag under which it came, if the version is to keep it.
    package var entityTag: String?

    static let tagKey = "entityTag"
}

extension FetchedContent {
    init(of entry: Manifest.Entry) {
        let kept = entry.foreign.first { $0.key == Self.tagKey }?.value.asString
        let isSound = kept.map {
            $0.utf8.count <= TransferHead.tagByteCountMax && Validator.isStrongTag($0)
        }
        self.init(
            address: entry.address, byteCount: entry.byteCount,
            entityTag: isSound == true ? kept : nil)
    }
}

extension Release {
    /// The version's manifest, once the addresses of all content are known.
    ///
    /// Omits absent optional files. Digests become labels; what the neutral model has no place for stays as foreign
    /// fields, together with the release's `family` and `trust` and a file's `key` and `mediaType`. What is useless
    /// once the content is here (sources, signatures, audience) stays in the received bytes. A release of castree's own
    /// format gives the manifest from which it was read.
    /// - Parameters:
    ///   - ordinal: the version's place in the store's order, unless the release has its own.
    ///   - createdAt: seconds since 1970.
    ///   - content: called for each index of ``files``; returns nil for an optional file that is absent.
    /// - Throws: `.missingObject` for a file that is not optional; `.badManifest`.
    package func manifest(
        ordinal: Int64, createdAt: Int64, content: (Int) throws(StoreError) -> FetchedContent?
    ) throws(StoreError) -> Manifest {
        let isForeign = family != CastreeFormat().family
        var entries: [Manifest.Entry] = []
        entries.reserveCapacity(files.count)
        for (position, file) in files.enumerated() {
            guard let arrived = try content(position) else {
                if file.isOptional { continue }
                throw StoreError(
                    .missingObject,
                    "\"\(printable(file.path.description))\" of release \(version) has not arrived")
            }
            var entry = Manifest.Entry(
                path: file.path, address: arrived.address, byteCount: arrived.byteCount)
            entry.isExecutable = file.isExecutable
            entry.routes = file.routes
            entry.labels = file.labels.filter(\.algorithm.identifiesContent)
            entry.foreign = Self.manifestFields(file.foreign, reserved: Self.entryKeys)
            entry.foreign += file.checksMember.map { [$0] } ?? []
            for (name, text) in [("key", file.key), ("mediaType", file.mediaType)] {
                guard let text, !entry.foreign.contains(where: { $0.key == name }) else { continue }
                entry.foreign.append(.init(key: name, value: .string(text)))
            }
            // A publisher's field of this name is not our tag.
            if isForeign { entry.foreign.removeAll { $0.key == FetchedContent.tagKey } }
            if let tag = arrived.entityTag {
                entry.foreign.append(.init(key: FetchedContent.tagKey, value: .string(tag)))
            }
            entries.append(entry)
        }
        var fields = Self.manifestFields(foreign, reserved: Self.manifestKeys)
        if isForeign {
            fields.append(.init(key: "family", value: .string(family)))
            fields.append(.init(key: "trust", value: .string(trust.rawValue)))
        }
        return try Manifest(
            version: version, ordinal: order ?? ordinal, createdAt: createdAt, entries: entries,
            foreign: fields)
    }

    private static let entryKeys = [
        "address", "bytes", "executable", "labels", "path", "routes",
    ]
    private static let manifestKeys = [
        "castree", "createdAt", "entries", "order", "version", "family", "trust",
    ]

    private static func manifestFields(
        _ fields: [JSONValue.Member], reserved: [String]
    ) -> [JSONValue.Member] {
        fields.filter { field in !reserved.contains { $0.utf8.elementsEqual(field.key.utf8) } }
    }
}
