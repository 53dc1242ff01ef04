import OriginTestSupport

@testable import HotPush

/// An origin as many machines leave it behind: what a directory publisher wrote, moved into epochs.
struct EpochOrigin {
    /// What is served: path to bytes.
    private(set) var files: [String: [UInt8]]
    private(set) var pointer: ChannelPointer
    /// Where the objects of releases were moved to, by path.
    private(set) var places: [String] = []

    /// Everything that was published, in epoch 0 and in the ninth entry of a log.
    init(_ place: PublishingPlace) throws {
        files = try place.published()
        pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        pointer.log = 9
    }

    private func position(_ version: String) throws -> Int {
        try require(pointer.releases.firstIndex { $0.version?.name.description == version })
    }

    func manifest(_ version: String) throws -> Manifest {
        let published = try require(try pointer.releases[position(version)].version)
        let path = OriginLayout.path(.manifest, published.manifest, in: published.epoch)
        return try Manifest(parsing: try require(files[path]))
    }

    /// Moves a release into an epoch, its objects into the epochs of a closure.
    ///
    /// - Parameter changed: changes the bytes of the places before they have their address.
    mutating func move(
        _ version: String, to epoch: Int64, objects epochs: (Int) -> Int64,
        places changed: (Places) -> [UInt8] = { $0.serialized() }
    ) throws {
        let numbered = NumberedObjects(of: try manifest(version))
        let position = try position(version)
        var published = try require(pointer.releases[position].version)
        files[OriginLayout.path(.manifest, published.manifest, in: epoch)] =
            files[OriginLayout.path(.manifest, published.manifest)]
        for (number, object) in numbered.references.enumerated() {
            let path = OriginLayout.path(.object, object.address, in: epochs(number))
            let bytes = try require(files[OriginLayout.path(.object, object.address)])
            files[path] = bytes
            places.append(path)
        }
        published.epoch = epoch
        let stand = Places(numbered.references.indices.map(epochs))
        if stand.areNeeded(in: epoch) {
            let bytes = changed(stand)
            let address = try ObjectID(of: bytes)
            files[OriginLayout.path(.places, address, in: epoch)] = bytes
            published.places = address
        }
        pointer.releases[position].target = .version(published)
    }

    mutating func leaveEpochZero() {
        let kept = Set(places)
        files = files.filter { path, _ in
            kept.contains(path)
                || !["objects/", "manifests/", "packs/", "deliveries/"].contains {
                    path.hasPrefix($0)
                }
        }
    }

    mutating func movePacks(to epoch: Int64) throws {
        var delivery = try require(pointer.releases[0].delivery)
        delivery.epoch = epoch
        pointer.releases[0].delivery = delivery
        for (path, bytes) in files where path.hasPrefix("packs/") || path.hasPrefix("deliveries/") {
            files["e/\(epoch)/\(path)"] = bytes
        }
    }

    /// What the origin's server and directory have.
    private var all: [String: [UInt8]] {
        var all = files
        all[OriginLayout.pointer(.stable)] = pointer.serialized()
        return all
    }

    func serve(at origin: FaultyOrigin) {
        origin.serve(all)
    }

    func write(to directory: String) throws {
        for (path, bytes) in all {
            let file = "\(directory)/\(path)"
            try Damage.makeDirectory((file as NSString).deletingLastPathComponent)
            try Damage.overwriteOrCreate(file, with: bytes)
        }
    }
}
