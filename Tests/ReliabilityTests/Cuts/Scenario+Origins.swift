import ClientSystems
import HotPush
import Origin
import StorageTestSupport

extension Scenario {
    /// Publishes versions to the origin `origin` of a directory.
    static func publish(
        _ names: [String], of versions: VersionStore, to path: String,
        on disk: any FileSystem = POSIXFileSystem(), isDurable: Bool = false,
        packs: PackOptions.Timing = .before
    ) throws {
        let publisher = publisher(path, on: disk, isDurable: isDurable, packs: packs)
        for name in names {
            try publisher.publish(
                name, of: versions, as: ReleaseOffer(channel: try ChannelName("stable")))
        }
    }

    private static func publisher(
        _ path: String, on disk: any FileSystem, isDurable: Bool,
        packs: PackOptions.Timing = .before
    ) -> Publisher {
        var options = PublisherOptions()
        options.packs.timing = packs
        options.isDurable = isDurable
        return Publisher(path, options: options, fileSystem: disk, now: { 1_760_000_000 })
    }

    static let pull = Scenario(
        testDescription: "pull",
        prepare: { place in
            try makeStore(place)
            let publishing = try VersionStore.create(
                at: place.beside + "/publisher", options: Place.options(false)
            ).versions
            try place.add("1", to: publishing)
            try publish(["1"], of: publishing, to: place.beside + "/origin")
        },
        run: { place, disk, isDurable in
            var options = PullOptions()
            options.destination = .current
            let origin = place.beside + "/origin"
            let versions = try place.open(on: disk, isDurable: isDurable)
            _ = try Pull(into: versions, over: DirectoryTransport(origin), options).run(origin)
        })

    /// What a reader finds at the origin, every byte of it held against its address.
    private static func offered(_ place: Place) throws -> String? {
        let path = place.root + "/origin"
        guard FileManager.default.fileExists(atPath: path + "/origin.json") else { return nil }
        let reader = try DirectoryOrigin(path)
        guard let release = try reader.pointer(.stable)?.releases.first,
            let version = release.version
        else { return nil }
        guard let received = try reader.manifestBytes(version.manifest) else {
            return "no manifest"
        }
        let manifest = try Manifest(parsing: received)
        guard manifest.version == version.name else { return "the manifest of another version" }
        var files: [String: String] = [:]
        for entry in manifest.entries {
            let object = "\(path)/\(OriginLayout.path(.object, entry.address))"
            guard FileManager.default.fileExists(atPath: object) else {
                return "no object for \(entry.path)"
            }
            let bytes = try Damage.contents(object)
            var hasher = try ObjectHasher()
            guard bytes.withUnsafeBytes({ hasher.hash($0).address }) == entry.address else {
                return "wrong bytes of \(entry.path)"
            }
            files[entry.path.description] = String(decoding: bytes, as: UTF8.self)
        }
        let name = version.name.description
        return files == Place.contents[name] ? name : "wrong bytes"
    }

    static let publish = Scenario(
        testDescription: "publish",
        prepare: { place in
            try with("1", "2")(place)
            try publish(["1"], of: place.open(), to: place.root + "/origin")
        },
        run: { place, disk, isDurable in
            try publish(
                ["2"], of: place.open(on: disk), to: place.root + "/origin", on: disk,
                isDurable: isDurable)
        },
        isKept: { place, _ in try offered(place) == "2" },
        holds: { place in ["1", "2"].contains(try offered(place)) })

    static let publishFirst = Scenario(
        testDescription: "publish into nothing",
        prepare: with("1", "2"),
        run: { place, disk, isDurable in
            try publish(
                ["2"], of: place.open(on: disk), to: place.root + "/origin", on: disk,
                isDurable: isDurable)
        },
        isKept: { place, _ in try offered(place) == "2" },
        holds: { place in [nil, "2"].contains(try offered(place)) })

    static let withdraw = Scenario(
        testDescription: "withdraw",
        prepare: { place in
            try with("1", "2")(place)
            try publish(["1", "2"], of: place.open(), to: place.root + "/origin")
        },
        run: { place, disk, isDurable in
            let publisher = publisher(place.root + "/origin", on: disk, isDurable: isDurable)
            _ = try publisher.withdraw(VersionName("2"))
        },
        isKept: { place, _ in try offered(place) == "1" },
        holds: { place in ["1", "2"].contains(try offered(place)) }, isDone: [.notOffered])

    static let prune = Scenario(
        testDescription: "prune",
        prepare: { place in
            try with("1", "2")(place)
            try publish(["1", "2"], of: place.open(), to: place.root + "/origin")
        },
        run: { place, disk, isDurable in
            let publisher = publisher(place.root + "/origin", on: disk, isDurable: isDurable)
            _ = try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        },
        isKept: { place, _ in try offered(place) == "2" },
        holds: { place in try offered(place) == "2" })

    /// What an origin says to CodePush's clients is whole, and a configuration has its history.
    private static func told(_ place: Place) throws -> (isThere: Bool, isWhole: Bool) {
        let directory = place.root + "/origin/for/codepush"
        let files = try ["config.json", "stable.json"].map { name -> String? in
            guard FileManager.default.fileExists(atPath: "\(directory)/\(name)") else { return nil }
            return String(decoding: try Damage.contents("\(directory)/\(name)"), as: UTF8.self)
        }
        let areWhole = files.allSatisfy { $0?.hasSuffix("}\n") ?? true }
        let isThere = files[0] != nil
        return (isThere, areWhole && (!isThere || files[1]?.contains("\"label\":\"v1\"") == true))
    }

    static let enable = Scenario(
        testDescription: "enable",
        prepare: { place in
            try with("1")(place)
            try publish(["1"], of: place.open(), to: place.root + "/origin")
        },
        run: { place, disk, isDurable in
            let publisher = publisher(place.root + "/origin", on: disk, isDurable: isDurable)
            let configuration = ClientConfiguration(
                .codePush, baseURL: "https://u.example.org", deployments: ["KEY": .stable])
            _ = try ClientAnnouncing().enable(
                configuration, by: publisher.engine(), with: place.open(on: disk)
            ).commit.seen()
        },
        isKept: { place, _ in try told(place) == (true, true) && offered(place) == "1" },
        holds: { place in try told(place).isWhole && offered(place) == "1" })

    /// A store with a damaged object, whose versions 1 and 2 an origin has, too.
    /// - Parameter isShown: whether version 1 is current.
    private static func damaged(_ place: Place, isShown: Bool = false) throws {
        try with("1", "2")(place)
        if isShown { try place.open().activate("1") }
        try publish(["1", "2"], of: place.open(), to: place.beside + "/origin")
        let digits = try address(of: "hello").description
        try Damage.flip(place.store + "/objects/\(digits.prefix(2))/\(digits.dropFirst(2))", at: 1)
    }

    static func repairFromOrigin(_ place: Place, _ versions: VersionStore) throws {
        let origin = place.beside + "/origin"
        let repair = OriginRepair(into: versions, over: DirectoryTransport(origin))
        let source = RepairSource { (lost) throws(StoreError) in
            try repair.restore(lost, from: .directory(origin))
        }
        _ = try versions.repair(from: source) { _ in true }
    }

    private static func isWhole(_ place: Place, _ versions: VersionStore) throws -> Bool {
        try versions.materialize("1")
        return try versions.store.read(address(of: "hello"), limit: 100) == Array("hello".utf8)
            && readTree(place.store + "/versions/1") == Place.contents["1"]
    }

    /// The damaged object is replaced in one step: no version is without it for a moment.
    static let replace = Scenario(
        testDescription: "repair from an origin",
        prepare: { place in
            try damaged(place, isShown: true)
        },
        run: verb(repairFromOrigin), isKept: isWhole,
        known: [.damagedObject, .missingObject, .wrongInTree, .missingTree],
        keepsVersionsWhole: true,
        treesAreDerived: true)

    /// An earlier repair has taken the object away, and the tree that showed it.
    static let complete = Scenario(
        testDescription: "complete from an origin",
        prepare: { place in
            try damaged(place)
            _ = try place.open().check(repairing: true)
        },
        run: verb(repairFromOrigin), isKept: isWhole, known: [.incompleteVersion],
        treesAreDerived: true)

    static let origins = [pull, publish, publishFirst, withdraw, prune, enable, replace, complete]
    /// All of them, or those whose names `CASTREE_TEST_VERBS` lists, with commas.
    static let all: [Scenario] = {
        let all = stores + keeping + origins + trustingOrigins
        guard let names = ProcessInfo.processInfo.environment["CASTREE_TEST_VERBS"] else {
            return all
        }
        return names.split(separator: ",").map { name in
            guard let scenario = all.first(where: { $0.testDescription == name }) else {
                let known = all.map(\.testDescription).joined(separator: ",")
                fatalError("CASTREE_TEST_VERBS: there is no verb \(name); there are \(known)")
            }
            return scenario
        }
    }()
}
