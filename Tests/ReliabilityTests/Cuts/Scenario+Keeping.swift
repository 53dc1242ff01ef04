import HotPush
import StorageTestSupport

// Which versions stay: pins, retention, what the app was shipped with, and trees outside of the store.
extension Scenario {
    /// A pin ends with its process: what a dead one leaves holds no version, and is swept.
    static let pin = Scenario(
        testDescription: "pin", prepare: with("1"),
        run: verb { _, versions in
            let pin = try versions.pin("1")
            defer { withExtendedLifetime(pin) {} }
            guard try versions.pinnedVersions() == ["1"] else {
                throw StoreError(.noVersion, "version 1 is pinned, and nobody knows of it")
            }
            do { try versions.retire("1") } catch let error as StoreError {
                guard error.code == .versionInUse else { throw error }
                return
            }
            throw StoreError(.noVersion, "version 1 was retired although it is pinned")
        },
        isKept: { place, versions in
            _ = try versions.collect()
            return try versions.pinnedVersions().isEmpty
                && !Damage.names(place.store + "/leases").contains { $0.hasPrefix(".pin-") }
        })

    /// Retiring what a process had pinned that was killed.
    static let retireUnpinned = Scenario(
        testDescription: "retire what a dead process had pinned",
        prepare: { place in
            try with("1")(place)
            try Damage.overwriteOrCreate(place.store + "/leases/.pin-0123456789abcdef-1", with: [])
        },
        run: verb { _, versions in _ = try versions.retire("1") },
        isKept: { place, versions in
            _ = try versions.collect()
            return !Damage.names(place.store + "/leases").contains { $0.hasPrefix(".pin-") }
        }, isDone: [.noVersion])

    /// What `gc --keep` does, with two versions to retire.
    static let retain = Scenario(
        testDescription: "gc of old versions",
        prepare: { place in
            try with("1", "2")(place)
            let versions = try place.open()
            try versions.activate("2")
            try versions.activate("0")
        },
        run: verb { _, versions in
            try versions.retire(try versions.planRetention(RetentionPolicy()))
            _ = try versions.collect()
            try promiseNothingStuck(versions)
        },
        isKept: { _, versions in
            try versions.versions().map(\.version) == ["0"]
                && versions.store.planCollection().objectCount == 0
        })

    /// The same with a limit of bytes: the oldest goes, the newer one may stay.
    static let shrink = Scenario(
        testDescription: "gc to a size", prepare: with("1", "2"),
        run: verb { _, versions in
            var policy = RetentionPolicy()
            policy.byteCountMax = 1000
            try versions.retire(try versions.planRetention(policy))
            _ = try versions.collect()
            try promiseNothingStuck(versions)
        },
        isKept: { _, versions in
            try Set(versions.versions().map(\.version)) == ["0", "2"]
                && versions.store.planCollection().objectCount == 0
        },
        holds: { place in
            FileManager.default.fileExists(atPath: place.store + "/manifests/2.json")
        })

    /// What the app was shipped with: version `name`.
    private static func shipped(_ name: String, _ place: Place) throws -> EmbeddedVersion {
        let directory = place.beside + "/shipped-" + name
        try writeTree(directory, Place.contents[name] ?? [:])
        return EmbeddedVersion(directory: directory, version: name)
    }

    static let adopt = Scenario(
        testDescription: "adopt",
        prepare: { place in
            // The first start of an app: nothing is there but the store.
            _ = try VersionStore.create(at: place.store, options: Place.options(false))
        },
        run: { place, disk, isDurable in
            let versions = try place.open(on: disk, isDurable: isDurable)
            try versions.adopt(try shipped("1", place))
        },
        isKept: { _, versions in
            let lifecycle = try versions.lifecycle()
            return lifecycle.embedded == "1" && lifecycle.current == "1"
        })

    static let adoptUpdate = Scenario(
        testDescription: "adopt after an update of the app",
        prepare: { place in
            try makeStore(place)
            let versions = try place.open()
            try versions.adopt(try shipped("1", place))
            try place.add("2", to: versions)
            try versions.activateAtNextBoot("0")
        },
        run: { place, disk, isDurable in
            let versions = try place.open(on: disk, isDurable: isDurable)
            try versions.adopt(try shipped("2", place))
        },
        isKept: { _, versions in
            let lifecycle = try versions.lifecycle()
            return lifecycle.embedded == "2" && lifecycle.current == "2"
        },
        holds: { place in
            // What there is to go back to is there at any time.
            FileManager.default.fileExists(atPath: place.store + "/manifests/1.json")
        })

    /// By links, whose bytes are the store's.
    static let checkoutLinks = Scenario(
        testDescription: "checkout by links",
        prepare: { place in
            try with("1")(place)
            mkdir(place.root + "/out", 0o755)
        },
        run: { place, disk, isDurable in
            let versions = try place.open(on: disk, isDurable: isDurable)
            _ = try versions.checkout("1", to: place.root + "/out/site", mode: .link)
        },
        isKept: { place, versions in
            // Nor is anything of an unfinished one left beside it.
            try checkout.isKept(place, versions)
                && FileManager.default.contentsOfDirectory(atPath: place.root + "/out") == ["site"]
        }, holds: checkout.holds, isDone: [.targetExists],
        trustsJournal: true, promisesNothingTwice: true)

    static let keeping = [pin, retireUnpinned, retain, shrink, adopt, adoptUpdate, checkoutLinks]
}
