import CASStore
import Storage
import VersionTree

/// Fetches from an origin what the store lacks of contents from which packs are to lead (`--fetch-bases`).
struct BaseFetching: Sendable {
    /// What is in the origin, and not here, sorted.
    let objects: [SizedKey]
    private let storage: any ObjectStorage
    private let options: PublisherOptions
    /// Its bytes.
    var byteCount: Int64 { objects.byteCount }

    private static let directory = "objects"

    init(
        _ bases: [PackBases.Base], in state: OriginState, _ storage: any ObjectStorage,
        _ versions: VersionStore, _ options: PublisherOptions
    ) throws(StoreError) {
        var wanted: [ObjectID: SizedKey] = [:]
        for base in bases {
            guard let manifest = base.manifest,
                let files = state.files(of: manifest, storage, versions)
            else { continue }
            let found = try PackBases.harmless { () throws(StoreError) in try files.objects() }
            for (object, epoch) in found ?? []
            where object.byteCount <= options.packs.prefixedByteCountMax {
                guard try versions.store.objects.open(object.address) == nil else { continue }
                let key = OriginKey(.object, object.address, in: epoch)
                wanted[object.address] = SizedKey(key: key, byteCount: object.byteCount)
            }
        }
        objects = wanted.values.sorted { $0.key.address < $1.key.address }
        self.storage = storage
        self.options = options
    }

    /// Fetches these objects.
    init(_ objects: [SizedKey], _ storage: any ObjectStorage, _ options: PublisherOptions) {
        self.objects = objects
        self.storage = storage
        self.options = options
    }

    /// Fetches them into a place; what cannot be had is merely not there.
    ///
    /// - Parameter what: what they are, for people.
    /// - Returns: a directory laid out as `objects/` of an origin; `nil` if there was nothing to fetch.
    func run(
        into place: PackingPlace,
        saying what: String = "of older versions, to make packs from them"
    ) throws(StoreError) -> OpenedDirectory? {
        guard !objects.isEmpty else { return nil }
        options.notice(
            "fetching \(counted(objects.count, "object")), \(sizeText(byteCount)): \(what)")
        let fileSystem = place.fileSystem
        try fileSystem.makeDirectoryIfAbsent(place.work.raw, Self.directory, mode: 0o755)
        let opened = try OpenedDirectory.open(place.work.raw, Self.directory, fileSystem)
        guard let directory = opened else { return nil }
        let (storage, options, objects) = (storage, options, objects)
        try storage.inParallel(objects.count) { (index) throws(StoreError) in
            if options.isInterrupted() { throw .publishingInterrupted }
            let wanted = objects[index]
            let path = StoreLayout.objectPath(wanted.key.address)
            try fileSystem.makeDirectoryIfAbsent(directory.raw, String(path.prefix(2)))
            let download = ObjectDownload(wanted.key, wanted.byteCount, storage)
            _ = try download.run(to: directory.raw, path, fileSystem)
        }
        return directory
    }
}
