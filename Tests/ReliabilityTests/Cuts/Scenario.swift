import HotPush
import StorageTestSupport

/// A verb on a store (or an origin) and what its acknowledgement promises.
struct Scenario: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// What is there before; all of it is durable.
    var prepare: @Sendable (Place) throws -> Void
    var run: @Sendable (Place, any FileSystem, _ isDurable: Bool) throws -> Void
    /// What is promised once it has returned, besides what the facts say.
    var isKept: @Sendable (Place, VersionStore) throws -> Bool = { _, _ in true }
    var holds: @Sendable (Place) throws -> Bool = { _ in true }
    /// What repeating it may say when it is done already.
    var isDone: Set<StoreError.Code> = []
    /// Whether what a second time found may become what it left, where that is something else than what
    /// the first left (a second start is not the first).
    var follows: (@Sendable (_ found: Facts, _ left: Facts) -> Bool)?
    /// What it may have left when it returned, besides what it leaves on a sound disk: something was passed over, and told.
    var passesOver: (@Sendable (_ before: Facts, _ left: Facts) -> Bool)?
    /// Damage that is there before; what a check may find until the verb has run.
    var known: Set<Finding.Kind> = []
    /// Whether no version may become incomplete on the way, although there is damage.
    var keepsVersionsWhole = false
    /// Whether it relies on names that become durable in the order of their changes, as with a journal.
    var trustsJournal = false
    /// Whether the refusal of a second time says nothing of whether the first is durable.
    var promisesNothingTwice = false
    /// Whether a complete version that nothing needs may be left without its tree: who shows it builds it.
    var treesAreDerived = false
    /// Whether the store is there before.
    var hasStore = true
}

extension Scenario {
    /// A store with version 0 shown and known good, and something to collect.
    static func makeStore(_ place: Place) throws {
        let versions = try VersionStore.create(
            at: place.store, options: Place.options(false), fileSystem: POSIXFileSystem())
        try place.add("0", to: versions)
        try versions.makeKnownGood("0")
        let lease = try versions.store.makeLease()
        _ = try versions.store.put(Array("garbage".utf8), protectedBy: lease)
    }

    static func with(_ names: String...) -> @Sendable (Place) throws -> Void {
        { place in
            try makeStore(place)
            let versions = try place.open()
            for name in names { try place.add(name, to: versions) }
        }
    }

    static func verb(
        _ body: @escaping @Sendable (Place, VersionStore) throws -> Void
    ) -> @Sendable (Place, any FileSystem, Bool) throws -> Void {
        { place, disk, isDurable in
            try body(place, place.open(on: disk, isDurable: isDurable))
        }
    }

    /// What could not be taken away is told, and nothing is promised of it.
    static func promiseNothingStuck(_ versions: VersionStore) throws {
        guard let stuck = versions.store.stuckLeftovers.first else { return }
        throw StoreError(.io, "unable to remove \(stuck.path): \(stuck.reason)")
    }

    static let initialize = Scenario(
        testDescription: "init", prepare: { _ in },
        run: { place, disk, isDurable in
            _ = try VersionStore.create(
                at: place.store, options: Place.options(isDurable), fileSystem: disk)
        }, hasStore: false)

    static let put = Scenario(
        testDescription: "put", prepare: makeStore,
        run: verb { _, versions in
            let lease = try versions.store.makeLease()
            _ = try versions.store.put(Array("an object".utf8), protectedBy: lease)
        },
        isKept: { _, versions in
            try versions.store.read(address(of: "an object"), limit: 100)
                == Array("an object".utf8)
        })

    static let arriving = ["small content", String(repeating: "large", count: 60_000), "unnamed"]

    static let arrive = Scenario(
        testDescription: "arrive", prepare: makeStore,
        run: verb { _, versions in
            let incoming = try IncomingContents(versions.store)
            for (number, text) in arriving.enumerated() {
                var item = try incoming.begin(
                    number == 2 ? address(of: "a placeholder") : address(of: text),
                    byteCount: number == 0 ? nil : Int64(text.utf8.count),
                    isPlaceholder: number == 2)
                if item.offset > 0 { try item.restart() }
                try item.append(Array(text.utf8).span.bytes)
                _ = try item.finish()
            }
            try incoming.commit()
        },
        isKept: { _, versions in
            for text in arriving {
                guard try versions.store.read(address(of: text), limit: 1 << 20) != nil else {
                    return false
                }
            }
            return true
        })

    static let suspend = Scenario(
        testDescription: "suspend", prepare: with("1"),
        run: verb { _, versions in
            var item = try IncomingContents(versions.store).begin(
                address(of: "0123456789"), byteCount: 10)
            if item.offset > 0 { try item.restart() }
            try item.append(Array("01234".utf8).span.bytes)
            try item.suspend()
        })

    static let add = Scenario(
        testDescription: "add", prepare: makeStore,
        run: verb { place, versions in try place.add("1", to: versions) })

    static let register = Scenario(
        testDescription: "register", prepare: makeStore,
        run: verb { _, versions in
            try versions.register(waiting(["known": "zero", "new": "still to come"]))
        })

    static let revise = Scenario(
        testDescription: "revise",
        prepare: { place in
            try makeStore(place)
            try place.open().register(waiting(["known": "a placeholder", "old": "never to come"]))
        },
        run: verb { _, versions in
            try versions.revise(waiting(["known": "zero", "new": "still to come"]))
        },
        isKept: { _, versions in
            try versions.missing(of: "waiting").map(\.paths) == [["new"]]
        },
        holds: { place in
            let versions = try place.open()
            let isOld = try versions.manifest(of: "waiting")[TreePath("new")] == nil
            return try versions.missing(of: "waiting").map(\.paths)
                == (isOld ? [["known"], ["old"]] : [["new"]])
        })

    static func waiting(_ files: [String: String]) throws -> Manifest {
        try makeManifest("waiting", files, ordinal: 0, createdAt: 0)
    }

    static let materialize = Scenario(
        testDescription: "materialize",
        prepare: { place in
            try with("1")(place)
            // A tree may be deleted by hand: it is derived.
            Damage.remove(place.store + "/versions/1/lib")
            let versions = place.store + "/versions/1"
            for name in Damage.names(versions).reversed() {
                chmod(versions, 0o755)
                Damage.remove(versions + "/" + name)
            }
            rmdir(versions)
            for shard in try FileManager.default.contentsOfDirectory(
                atPath: place.store + "/objects")
            {
                for file in Damage.names(place.store + "/objects/" + shard)
                where file.hasSuffix(".x") {
                    unlink(place.store + "/objects/" + shard + "/" + file)
                }
            }
        },
        run: verb { _, versions in try versions.materialize("1") },
        known: [.missingInTree])

    static let checkout = Scenario(
        testDescription: "checkout",
        prepare: { place in
            try with("1")(place)
            mkdir(place.root + "/out", 0o755)
        },
        run: { place, disk, isDurable in
            let versions = try place.open(on: disk, isDurable: isDurable)
            _ = try versions.checkout("1", to: place.root + "/out/site", mode: .copy)
        },
        isKept: { place, _ in
            try readTree(place.root + "/out/site") == Place.contents["1"]
        },
        holds: { place in
            let path = place.root + "/out/site"
            return try !FileManager.default.fileExists(atPath: path)
                || readTree(path) == Place.contents["1"]
        }, isDone: [.targetExists], promisesNothingTwice: true)

    static let activate = Scenario(
        testDescription: "activate", prepare: with("1"),
        run: verb { _, versions in try versions.activate("1") })

    static let schedule = Scenario(
        testDescription: "activate at the next boot", prepare: with("1"),
        run: verb { _, versions in try versions.activateAtNextBoot("1") })

    static let boot = Scenario(
        testDescription: "boot",
        prepare: { place in
            try with("1")(place)
            try place.open().activateAtNextBoot("1")
        },
        run: verb { _, versions in _ = try versions.boot() }, follows: bootFollows,
        passesOver: waitsOn)

    /// What waits and cannot be looked at waits on, and what is current starts.
    private static func waitsOn(_ before: Facts, _ left: Facts) -> Bool {
        var expected = before
        expected.lifecycle.boot = left.lifecycle.boot
        return left == expected && left.lifecycle.boot?.version == before.lifecycle.current
    }

    /// A start that was recorded and never confirmed is left for the known good version: it waits, and is
    /// banned at its second failed attempt; one that was not recorded is made, also of what waits.
    private static func bootFollows(_ found: Facts, _ left: Facts) -> Bool {
        let before = found.lifecycle
        let after = left.lifecycle
        let isUnconfirmed = before.unconfirmed != nil
        let isBanned = isUnconfirmed && (before.attempts.first?.failedAttempts ?? 0) >= 2
        let bans = (before.bad.map(\.version) + (isBanned ? ["1"] : [])).sorted()
        return left.versions == found.versions
            && after.current == (isUnconfirmed ? "0" : before.pending ?? before.current)
            && after.pending == (isUnconfirmed && !isBanned ? "1" : nil)
            && after.boot?.version == after.current
            && after.knownGood == ["0"] && after.bad.map(\.version).sorted() == bans
            && after.bad.allSatisfy { $0.count == 1 }
            && left.shown == after.current.map { "versions/" + $0 }
    }

    static let bootBack = Scenario(
        testDescription: "boot after a start that nobody confirmed",
        prepare: { place in
            try with("1")(place)
            let versions = try place.open()
            try versions.activateAndBoot("1")
        },
        run: verb { _, versions in _ = try versions.boot() }, follows: bootFollows)

    static let confirm = Scenario(
        testDescription: "confirm",
        prepare: { place in
            try with("1")(place)
            let versions = try place.open()
            try versions.activateAndBoot("1")
        },
        run: verb { _, versions in
            let lifecycle = try versions.lifecycle()
            let token = lifecycle.boot?.token ?? lifecycle.confirmed?.token
            try versions.confirm("1", token: token ?? "")
        })

    static let rollback = Scenario(
        testDescription: "rollback",
        prepare: { place in
            try with("1")(place)
            try place.open().activate("1")
        },
        run: verb { _, versions in _ = try versions.rollback() },
        isDone: [.nothingToRollBackTo])

    static let unban = Scenario(
        testDescription: "forgive",
        prepare: { place in
            try with("1")(place)
            let versions = try place.open()
            try versions.activate("1")
            _ = try versions.rollback()
        },
        run: verb { _, versions in try versions.unban("1") }, isDone: [.noVersion])

    static let retire = Scenario(
        testDescription: "retire", prepare: with("1"),
        run: verb { _, versions in _ = try versions.retire("1") }, isDone: [.noVersion])

    static let collect = Scenario(
        testDescription: "gc",
        prepare: { place in
            try with("1", "2")(place)
            try place.open().retire("1")
        },
        run: verb { _, versions in
            _ = try versions.store.collect()
            try promiseNothingStuck(versions)
        },
        isKept: { _, versions in try versions.store.planCollection().objectCount == 0 })

    /// Retiring and collecting in one go: the whole way of a version's content out.
    static let retireAndCollect = Scenario(
        testDescription: "retire and gc", prepare: with("1", "2"),
        run: verb { _, versions in
            do { try versions.retire("1") } catch let error as StoreError {
                guard error.code == .noVersion else { throw error }
            }
            _ = try versions.store.collect()
            try promiseNothingStuck(versions)
        })

    static let repair = Scenario(
        testDescription: "repair",
        prepare: { place in
            try with("1", "2")(place)
            let digits = try address(of: "hello").description
            try Damage.flip(
                place.store + "/objects/\(digits.prefix(2))/\(digits.dropFirst(2))", at: 1)
        },
        run: verb { _, versions in
            let findings = try versions.check(repairing: true).findings
            // What could not be taken away stays, and is told.
            if let left = findings.first(where: { $0.kind == .damagedObject && !$0.isRepaired }) {
                throw StoreError(.io, left.message)
            }
            try promiseNothingStuck(versions)
        },
        // Where a step fails behind the one that takes the object away, the index does not say so yet, and the
        // tree still shows what was taken away. The next repair ends it.
        known: [.damagedObject, .missingObject, .wrongInTree])

    static let rebuild = Scenario(
        testDescription: "rebuild",
        prepare: { place in
            try with("1")(place)
            for name in ["index.sqlite", "index.sqlite-journal", "stamp"] {
                Damage.remove(place.store + "/" + name)
            }
        },
        run: verb { _, versions in _ = try versions.versions() })

    static let stores = [
        initialize, put, arrive, suspend, add, register, revise, materialize, checkout, activate,
        schedule, boot, bootBack, confirm, rollback, unban, retire, collect, retireAndCollect,
        repair,
        rebuild,
    ]
}
