import CASStore
import VersionTree

/// The files of an origin in a directory that never change.
struct OriginFileList {
    /// Where they stand, in the order in which they are sent.
    static let kinds = [
        OriginLayout.objects, OriginLayout.packs, OriginLayout.twins, OriginLayout.manifests,
        OriginLayout.deliveries, OriginLayout.facts, OriginLayout.clients,
    ]

    /// All of them; those of a kind together.
    private(set) var all: [SizedKey] = []
    private let path: String
    private let root: Int32
    private let fileSystem: any FileSystem

    /// Lists them.
    init(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        (self.root, self.path, self.fileSystem) = (root, path, fileSystem)
        for kind in Self.kinds { try add(kind) }
    }

    private mutating func add(_ place: String) throws(StoreError) {
        guard let directory = try fileSystem.openIfPresent(root, place, .directory) else { return }
        for name in try fileSystem.names(in: directory.raw).sorted() {
            guard let status = try fileSystem.status(directory.raw, name) else { continue }
            if status.kind == .directory {
                try add("\(place)/\(name)")
            } else if status.kind == .regular, let key = BucketKey(path: "\(place)/\(name)") {
                // What led from one manifest to another is made no more.
                if case .delta = key.kind { continue }
                all.append(SizedKey(key: key, byteCount: status.byteCount))
            }
        }
    }

    /// - Throws: `.damagedOrigin` unless all is there that the pointers offer.
    func check(
        _ pointers: [ChannelName: ChannelPointer], _ origin: DirectoryOrigin
    ) throws(StoreError) {
        var sizes: [BucketKey: Int64] = [:]
        for file in all { sizes[file.key] = file.byteCount }
        for release in Set(pointers.values.flatMap(\.liveReleases)) {
            let version = release.version
            guard let manifest = try origin.manifest(version.manifest) else {
                throw Self.damaged(path, "the manifest of version \(version.name) is not there")
            }
            for object in manifest.references
            where sizes[BucketKey(.object, object.address, in: 0)] != object.byteCount {
                throw Self.damaged(
                    path,
                    "object \(object.address) of version \(version.name) is missing or has another size"
                )
            }
            if let facts = release.facts { try check(facts.address, of: version, sizes, origin) }
            guard let delivery = release.delivery else { continue }
            let document = try DeliveryFile.read(delivery, of: version, root, fileSystem)
            let packs = document?.packs ?? []
            let isWhole = packs.allSatisfy {
                sizes[BucketKey(.pack, $0.address, in: 0)] == $0.byteCount
            }
            guard document != nil, isWhole else {
                throw Self.damaged(path, "packs of version \(version.name) are missing or cut")
            }
        }
    }

    /// - Throws: `.damagedOrigin` unless all is there that facts name.
    private func check(
        _ address: ObjectID, of version: PublishedVersion, _ sizes: [BucketKey: Int64],
        _ origin: DirectoryOrigin
    ) throws(StoreError) {
        let facts = try origin.facts(address)
        let isWhole = facts?.twins.allSatisfy {
            sizes[BucketKey(.twin, $0.address, in: 0)] == $0.byteCount
        }
        guard isWhole == true else {
            throw Self.damaged(
                path,
                "what the clients of other systems need of version \(version.name) is missing or cut"
            )
        }
    }

    static func damaged(_ path: String, _ problem: String) -> StoreError {
        StoreError(
            .damagedOrigin,
            "\(printable(path)) is not copied: \(problem); castree publish --verify mends it there")
    }
}
