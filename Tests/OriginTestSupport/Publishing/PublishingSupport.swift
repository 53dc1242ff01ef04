package import HotPush
package import Origin

package struct PublishingPlace {
    package let store: TemporaryStore
    package private(set) var kind: OriginPlace
    private let buckets: PlacedBuckets
    private var originName = "origin"

    package static let first = [
        "index.html": "<h1>one</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "tools/serve": "#! /bin/sh\n", "empty": "",
    ]
    package static let second = [
        "index.html": "<h1>two</h1>", "css/site.css": "body {}", "js/app.js": "run(1)",
        "large": String(repeating: "0123456789abcdef", count: 40_000),
    ]

    package init(_ kind: OriginPlace = .directory, offering version: String? = nil) throws {
        self.kind = kind
        buckets = try PlacedBuckets()
        store = try TemporaryStore()
        try store.add("1", Self.first)
        try store.add("2", Self.second)
        if let version { try publish(version) }
    }

    package var origin: String { store.directory.appending(originName) }
    /// What messages call it.
    package var name: String { kind == .directory ? origin : "s3://model/\(originName)" }
    package var model: ModelStore { buckets.model(originName) }
    /// A clock that stands still until it is moved.
    package var clock: ServerClock { buckets.clock }

    /// The same store, and another place of that kind to publish to.
    package func withOrigin(_ name: String) -> PublishingPlace {
        var place = self
        place.originName = name
        return place
    }

    /// The same store, and a place of another kind.
    package func at(_ kind: OriginPlace, _ name: String) -> PublishingPlace {
        var place = withOrigin(name)
        place.kind = kind
        return place
    }

    package var versions: VersionStore { store.versions }

    /// The origin's storage, as others see it.
    package func storage(
        on disk: any FileSystem = POSIXFileSystem(),
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) throws -> any ObjectStorage {
        switch kind {
        case .directory:
            try DirectoryStorage(
                origin, scratch: OriginLayout.work, isDurable: false, fileSystem: disk)
        case .bucket: ModelStorage(model, schedule: schedule)
        case .real: try buckets.real(originName)
        }
    }

    /// A publisher by that clock.
    ///
    /// - Parameters:
    ///   - fileSystem: the disk of a directory.
    ///   - packs: when it makes packs; unless a test is about them, never.
    ///   - schedule: what happens to the requests to a bucket.
    package func publisher(
        on fileSystem: any FileSystem = POSIXFileSystem(), packs: PackOptions.Timing = .never,
        _ change: (inout PublisherOptions) -> Void = { _ in },
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> Publisher {
        var options = PublisherOptions()
        options.isDurable = false
        options.packs.timing = packs
        change(&options)
        let clock = clock
        if kind == .directory {
            return Publisher(origin, options: options, fileSystem: fileSystem, now: { clock.now })
        }
        guard let storage = try? storage(schedule: schedule) else {
            preconditionFailure("the server of the environment cannot be used")
        }
        return Publisher(
            storage, options: options, now: { clock.now }, pause: { _ in clock.advance(1) })
    }

    package func publisher(
        ending steps: EndingSteps, _ change: (inout PublisherOptions) -> Void = { _ in }
    ) -> Publisher {
        steps.begin()
        return publisher(on: steps.disk, change, schedule: { steps.schedule($0) })
    }

    @discardableResult
    package func publish(_ version: String, to channel: String = "stable") throws -> PublishPlan {
        try require(
            publisher().publish(
                version, of: versions, as: ReleaseOffer(channel: try ChannelName(channel))
            ).plan)
    }

    /// What a channel's pointer says that devices read; `nil` if there is none.
    package func pointer(_ channel: String = "stable") throws -> ChannelPointer? {
        let name = try ChannelName(channel)
        return try bytes(OriginLayout.pointer(name)).map {
            try ChannelPointer(parsing: $0, of: name)
        }
    }

    package func offered(_ channel: String = "stable") throws -> [String?] {
        try require(pointer(channel)).releases.map { $0.version?.name.description }
    }

    /// What a reader of the channel gets: the version's name and its files, each byte held against
    /// its address; `nil` if nothing is offered.
    package func read(
        _ channel: String = "stable"
    ) throws -> (version: String, files: [String: String])? {
        guard let version = try pointer(channel)?.releases.first?.version else { return nil }
        return (version.name.description, try files(of: version))
    }

    package func files(of version: PublishedVersion) throws -> [String: String] {
        let manifestKey = OriginKey(.manifest, version.manifest, in: version.epoch)
        guard let bytes = try bytes(manifestKey.path),
            try ObjectID(of: bytes) == version.manifest
        else {
            throw StoreError(.damagedOrigin, "no manifest of \(version.name)")
        }
        let manifest = try Manifest(parsing: bytes)
        expect(manifest.version, equals: version.name)
        try expect(manifest.contentAddress(), equals: version.content)
        var files: [String: String] = [:]
        for entry in manifest.entries {
            let bytes = try require(
                try (0...version.epoch).lazy.compactMap { epoch in
                    try self.bytes(OriginLayout.path(.object, entry.address, in: epoch))
                }.first)
            expect(Int64(bytes.count), equals: entry.byteCount)
            try expect(ObjectID(of: bytes), equals: entry.address)
            files[entry.path.description] = String(decoding: bytes, as: UTF8.self)
        }
        return files
    }

    /// The files of the origin that readers see: path to bytes.
    package func published() throws -> [String: [UInt8]] {
        try files(without: kind == .directory ? ".publish" : "probe/")
    }

    /// All files, also those of publishers.
    package func files(without hidden: String? = nil) throws -> [String: [UInt8]] {
        if kind == .directory { return try Damage.files(below: origin, without: hidden) }
        if kind == .bucket {
            return model.files.mapValues(\.bytes).filter { !$0.key.hasPrefix(hidden ?? " ") }
        }
        var files: [String: [UInt8]] = [:]
        for key in try storage().keys() where !key.hasPrefix(hidden ?? " ") {
            files[key] = try bytes(key)
        }
        return files
    }

    package func restore(_ files: [String: [UInt8]]) throws {
        if kind == .directory {
            Damage.remove(origin)
        } else {
            for key in try self.files().keys where files[key] == nil { try set(key, nil) }
        }
        for (key, bytes) in files { try set(key, bytes) }
    }

    package func bytes(_ key: String) throws -> [UInt8]? {
        switch kind {
        case .directory: return try? Damage.contents("\(origin)/\(key)")
        case .bucket: return model.files[key]?.bytes
        case .real:
            let read = try storage().bytes(key, ReadRequest(byteCountMax: 64 << 20))
            guard case .found = read.outcome else { return nil }
            return read.bytes
        }
    }

    /// Puts or removes a file, as a person with another tool might.
    package func set(_ key: String, _ bytes: [UInt8]?) throws {
        switch kind {
        case .directory:
            let path = "\(origin)/\(key)"
            guard let bytes else { return Damage.remove(path) }
            try Damage.makeDirectory((path as NSString).deletingLastPathComponent)
            try Damage.overwriteOrCreate(path, with: bytes)
        case .bucket: model.set(key, bytes)
        case .real:
            if let bytes {
                _ = try storage().put(key, StorageBody(bytes), .object)
            } else {
                _ = try storage().delete([key])
            }
        }
    }

    package func directoryFindings(
        _ options: OriginAuditOptions = OriginAuditOptions(),
        on disk: any FileSystem = POSIXFileSystem(), repairingFrom mender: OriginMender? = nil
    ) throws -> [OriginFinding] {
        try DirectoryAudit(
            origin, options, waiting: .seconds(1), repairingFrom: mender, fileSystem: disk,
            notice: { _ in }
        ).run().findings
    }

    /// Copies the origin, whatever its kind, to another place.
    @discardableResult
    package func copy(
        to target: PublishingPlace, ending steps: EndingSteps? = nil
    ) throws -> OriginCopy.Report {
        let source: any ObjectStorage =
            kind == .directory ? try OriginCopy.directory(origin) : try storage()
        let publisher = steps.map { target.publisher(ending: $0) } ?? target.publisher()
        return try OriginCopy(
            publisher.engine(isCreating: true), from: source, scratch: store.directory.path
        ).run()
    }

    /// Gives back what another origin is missing: from that store, and from this directory.
    package func mender(into versions: VersionStore) throws -> OriginMender {
        let location = try OriginReference(parsing: origin).location
        let repair = OriginRepair(into: versions, over: DirectoryTransport(origin), .hasty)
        return OriginMender([versions]) { [origin] (lost) throws(StoreError) in
            try repair.restore(lost, of: origin, at: location)
        } reading: { (path, byteCountMax) throws(StoreError) in
            try repair.file(path, byteCountMax: byteCountMax, at: location)
        }
    }

    /// Makes the origin as an older castree left it, which wrote no log.
    package func forgetLog() throws { try Damage.forgetLog(of: origin) }

    package func objectPath(_ text: String) throws -> String {
        origin + "/" + OriginLayout.path(.object, try address(of: text))
    }

    package func objectKey(_ text: String) throws -> String {
        OriginLayout.path(.object, try address(of: text))
    }
}

extension OriginAuditOptions {
    /// Those of a check that waits for nobody.
    package static func hasty(isDeep: Bool = false) -> OriginAuditOptions {
        var options = OriginAuditOptions()
        (options.check.isDeep, options.pause) = (isDeep, { _ in })
        return options
    }
}

extension PullOptions {
    /// Those of a pull that waits for nobody.
    package static var hasty: PullOptions {
        var options = PullOptions()
        options.retries.firstDelay = .milliseconds(1)
        options.retries.delayMax = .milliseconds(5)
        options.retries.retryAfterMax = .milliseconds(5)
        options.retries.failureCountMax = 3
        // However slow the machine is, the tests count requests.
        options.offerLifetime = .seconds(3600)
        return options
    }
}

extension ObjectStorage {
    /// A publisher that makes no packs, unless that is changed.
    package func publisher(
        _ change: (inout PublisherOptions) -> Void = { _ in }
    ) -> OriginPublisher {
        var options = PublisherOptions()
        options.isDurable = false
        options.packs.timing = .never
        change(&options)
        return OriginPublisher(self, options: options, pause: { _ in })
    }
}
