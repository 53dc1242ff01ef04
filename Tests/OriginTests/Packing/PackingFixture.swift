import OriginTestSupport

/// Releases of a made-up web app whose bundler hashes names: what changes has another name each time.
struct PackingFixture {
    let place: PublishingPlace

    /// Text in which nothing repeats, as far as a compressor is concerned.
    static func text(_ seed: UInt64, _ byteCount: Int) -> String {
        var random = SeededRandom(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount + 8)
        while bytes.count < byteCount {
            // Eight characters from ` ` to `_`.
            let eight = random.next() & 0x3F3F_3F3F_3F3F_3F3F &+ 0x2020_2020_2020_2020
            withUnsafeBytes(of: eight.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return String(decoding: bytes.prefix(byteCount), as: UTF8.self)
    }

    /// The same text with some of it replaced, near its middle.
    static func edited(_ text: String, _ release: Int) -> String {
        let middle = text.utf8.count / 2
        return text.prefix(middle) + "release \(release)" + text.dropFirst(middle)
    }

    /// The files of a release.
    /// - Parameter scale: how large they are, in per cent.
    static func files(_ release: Int, scale: Int = 100) -> [String: String] {
        func text(_ seed: UInt64, _ byteCount: Int) -> String {
            Self.text(seed, byteCount * scale / 100)
        }
        var files = [
            "index.html": edited(text(1, 3000), release),
            "css/site.css": text(2, 5000),
            "js/app.\(release * 7919).js": edited(text(3, 150_000), release),
            "js/unchanged.js": text(4, 80_000),
            "img/logo.png": text(5, 300),
        ]
        for chunk in 0..<6 {
            let code = edited(text(UInt64(10 + chunk), 9000 + 100 * chunk), release)
            files["js/\(release * 31 + chunk * 17).chunk.js"] = code
        }
        return files
    }

    /// A store with releases 1 to `count`, of which some are published, with packs.
    init(
        _ count: Int = 2, scale: Int = 100, in kind: OriginPlace = .directory,
        publishing versions: String...
    ) throws {
        place = try PublishingPlace(kind)
        for release in 1...count {
            try place.store.add("r\(release)", Self.files(release, scale: scale))
        }
        for version in versions { try publish(version) }
    }

    /// The same store, and another directory to publish to.
    init(_ other: PackingFixture, origin: String) { place = other.place.withOrigin(origin) }

    /// The same store, and a copy of the origin.
    init(copying other: PackingFixture, to origin: String) throws {
        self.init(other, origin: origin)
        try FileManager.default.copyItem(atPath: other.place.origin, toPath: place.origin)
    }

    var reader: PackReader {
        PackReader(file: { try place.bytes($0) }, store: place.versions.store)
    }

    func manifest(_ version: String) throws -> Manifest {
        try place.versions.registeredManifest(of: version)
    }

    /// A publisher that makes packs, fast unless the options say otherwise.
    func publisher(
        _ timing: PackOptions.Timing = .before, on disk: any FileSystem = POSIXFileSystem(),
        _ change: (inout PublisherOptions) -> Void = { _ in }
    ) -> Publisher {
        place.publisher(on: disk, packs: timing) {
            $0.packs.level = 3
            change(&$0)
        }
    }

    @discardableResult
    func publish(
        _ version: String, _ change: (inout PublisherOptions) -> Void = { _ in }
    ) throws -> PublishPlan {
        try require(publisher(.before, change).publish(version, of: place.versions).plan)
    }

    /// The version that a channel offers; all that its pointer names is there, whole.
    func offered(_ channel: String = "stable", _ comment: Comment? = nil) throws -> String? {
        guard let pointer = try place.pointer(channel) else { return nil }
        for release in pointer.releases {
            guard let published = release.delivery else { continue }
            for pack in try reader.delivery(of: require(release.version), published).packs {
                let bytes = try require(place.bytes(OriginLayout.path(.pack, pack.address)))
                try expect(ObjectID(of: bytes), equals: pack.address, comment)
            }
        }
        guard let version = pointer.releases.first?.version else { return nil }
        let wanted = try manifest(version.name.description)
        try expect(version.content, equals: wanted.contentAddress(), comment)
        try expect(place.files(of: version).count, equals: wanted.entries.count, comment)
        return version.name.description
    }

    func pointer() throws -> ChannelPointer { try require(place.pointer()) }

    func kept(_ directory: String) -> [String] {
        Damage.names(place.origin + "/.publish/" + directory).sorted()
    }

    /// The packs of the first release: each is read, and all that it gives is held against its address.
    /// - Returns: by the version from which it leads; `""` for the pack of everything.
    @discardableResult
    func readAll(_ versions: [String]) throws -> [String: (Delivery.Pack, PackReader.Pack)] {
        let delivery = try require(try reader.delivery())
        var names: [ObjectID: String] = [:]
        for version in versions { names[try manifest(version).contentAddress()] = version }
        var result: [String: (Delivery.Pack, PackReader.Pack)] = [:]
        for pack in delivery.packs {
            let name = try pack.base.map { try require(names[$0]) }
            let read = try reader.read(pack, from: name.map { try manifest($0) })
            result[name ?? ""] = (pack, read)
        }
        return result
    }
}
