package import CASStore
import StrictJSON
package import VersionTree

/// castree's own format: the canonical manifest, with the objects beside it.
///
/// An origin has the layout of a store, `manifests/<version>.json` and `objects/ab/cdef…`, which any web server can
/// serve and any cache may keep indefinitely.
package struct CastreeFormat: ReleaseFormat {
    package init() {}

    package var name: String { "castree" }
    package var number: Int { Int(Manifest.formatVersion) }

    package func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        // A manifest does not tell which version is offered.
        guard let version else { return [] }
        return [ReleaseDocument(path: OriginLayout.manifest(named: version))]
    }

    /// Identified by the key `castree`, which holds the format's number.
    package func recognizes(_ bytes: [UInt8]) -> Bool {
        scanMembers(of: bytes) { key, kind, _ in key == "castree" && kind == .number }
    }

    /// Throws `.badManifest` with the error and its place.
    package func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        let limits = Manifest.Limits.foreign(entryCountMax: context.entryCountMax)
        return release(of: try Manifest(parsing: bytes, limits: limits), received: bytes)
    }

    /// - Parameters:
    ///   - received: the bytes from which the manifest was read.
    ///   - epoch: the epoch of its objects.
    package func release(of manifest: Manifest, received: [UInt8], epoch: Int64 = 0) -> Release {
        var release = Release(
            family: family, version: manifest.version, trust: .digest, received: received)
        release.order = manifest.ordinal
        release.foreign = manifest.foreign
        release.files.reserveCapacity(manifest.count)
        for entry in manifest.entries {
            var file = ReleaseFile(
                path: entry.path, source: OriginLayout.path(.object, entry.address, in: epoch))
            file.address = entry.address
            file.byteCount = entry.byteCount
            file.isExecutable = entry.isExecutable
            file.routes = entry.routes
            file.checks = entry.labels.map { .digest($0) }
            file.foreign = entry.foreign
            file.isLaunchFile = entry.path.description.utf8.elementsEqual("index.html".utf8)
            release.files.append(file)
        }
        return release
    }

    /// For an object that is gone, also says how to restore it.
    package func message(_ problem: ReleaseProblem) -> String {
        guard case .fileStatus(_, let status) = problem, [404, 410].contains(status) else {
            return problem.message
        }
        return "\(problem.message); castree publish --verify repairs it"
    }
}

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
