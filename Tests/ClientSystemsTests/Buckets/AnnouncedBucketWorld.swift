import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// A bucket in memory from which the clients of two model systems update, and the promises that hold after every request.
///
/// What is promised is read from the bucket's files alone, as `docs/origin-format.md` describes them.
final class AnnouncedBucketWorld: Sendable {
    let store: ModelStore
    private let sourceStore: TemporaryStore
    private let problem = Mutex<[String]>([])
    private let acknowledged = Mutex<[String]>([])
    private let checkedCount = Atomic<Int>(-1)
    let notices = Notices()

    static func sourceStore() throws -> TemporaryStore {
        let sourceStore = try TemporaryStore()
        for (number, content) in ["abc", "bcd", "cde", "def"].enumerated() {
            var files: [String: String] = [:]
            for letter in content {
                files["\(letter).txt"] = "\(letter) \(AnnouncingPlace.text(1))"
            }
            try sourceStore.add("\(number + 1)", files)
        }
        return sourceStore
    }

    var versions: VersionStore { sourceStore.versions }

    init(_ sourceStore: TemporaryStore? = nil) throws {
        self.sourceStore = try sourceStore ?? Self.sourceStore()
        store = ModelStore()
    }

    convenience init(offering version: String) throws {
        try self.init()
        try publish(version, by: publisher())
    }

    /// An origin that has announced to clients of two systems, and was pruned: its files stand in two epochs.
    static func pruned() throws -> AnnouncedBucketWorld {
        let world = try AnnouncedBucketWorld(offering: "1")
        try world.enable(.codePush, .expo)
        try world.publish("2", by: world.publisher())
        try world.prune()
        return world
    }

    /// A world of its own in which all has happened that happened in another one.
    init(copying other: AnnouncedBucketWorld) {
        sourceStore = other.sourceStore
        store = ModelStore(copying: other.store)
        acknowledged.withLock { $0 = other.acknowledged.withLock { $0 } }
    }

    func publisher(
        _ actor: String = "one",
        schedule: @escaping RequestSchedule = { _ in .answered },
        options change: (inout PublisherOptions) -> Void = { _ in }
    ) -> OriginPublisher {
        let (clock, notices) = (store.clock, notices)
        var options = PublisherOptions()
        options.isDurable = false
        options.packs.timing = .never
        options.announcing = announcing()
        options.notice = notices.sink
        change(&options)
        let bucket = ModelStorage(
            store, actor: actor, rights: .all,
            afterEach: { [unowned self] request in check(after: "\(request)") },
            schedule: schedule)
        return OriginPublisher(
            bucket, options: options, now: { clock.now }, pause: { _ in clock.advance(1) })
    }

    func announcing() -> ClientAnnouncing {
        ClientAnnouncing(rules: [LabelledFeed.self, TimedFeed.self])
    }

    @discardableResult
    func publish(
        _ version: String, to channel: String = "stable", by publisher: OriginPublisher
    ) throws -> OriginCommit {
        store.clock.advance(10)
        let commit = try publisher.publish(
            version, of: versions, as: ReleaseOffer(channel: try ChannelName(channel)))
        if channel == "stable" { acknowledged.withLock { $0.append(version) } }
        return commit
    }

    func enable(
        _ system: ClientSystem, by publisher: OriginPublisher,
        change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws {
        store.clock.advance(10)
        var configuration = AnnouncingPlace.configuration(system)
        change(&configuration)
        _ = try announcing().enable(configuration, by: publisher, with: versions)
    }

    func enable(
        _ systems: ClientSystem..., change: (inout ClientConfiguration) -> Void = { _ in }
    ) throws {
        for system in systems { try enable(system, by: publisher(), change: change) }
    }

    func prune(_ publisher: OriginPublisher? = nil, keeping count: Int = 1) throws {
        store.clock.advance(10)
        _ = try OriginPruner(publisher ?? self.publisher()).prune(keeping: count, grace: 0)
    }

    /// What a channel has offered to the clients of a system, as the log says.
    func history(_ system: ClientSystem) throws -> ClientHistory {
        try publisher("reader").clients().history(of: .stable, system)
    }

    func audit(repairing: Bool = false, deep: Bool = false) throws -> OriginAuditReport {
        var options = OriginAuditOptions()
        options.check.isDeep = deep
        let clock = store.clock
        options.pause = { _ in clock.advance(1) }
        return try OriginAudit(
            ModelStorage(store), options, repairingFrom: repairing ? OriginMender([versions]) : nil
        ).run()
    }

    /// The files below `for/`, in whatever epoch.
    var clientFiles: [String] { store.files.keys.filter { $0.contains("for/") }.sorted() }

    // MARK: Promises

    var broken: [String] { problem.withLock { $0 } }

    private func say(_ what: String, _ when: String) {
        problem.withLock { if $0.count < 20 { $0.append("\(what), after \(when)") } }
    }

    private typealias Object = [String: Any]

    /// What an origin is after an entry, made again from all entries up to it.
    private struct Replay {
        var pointers: Object = [:]
        /// By system and channel.
        var offers: [String: [Object]] = [:]
        var configurations: Object = [:]

        mutating func add(_ entry: Object) {
            for (channel, pointer) in entry["pointers"] as? Object ?? [:] {
                pointers[channel] = pointer
            }
            for (system, value) in entry["configurations"] as? Object ?? [:] {
                configurations[system] = value
            }
            for (system, channels) in entry["rows"] as? [String: Object] ?? [:] {
                for (channel, value) in channels {
                    guard let rows = value as? Object else { continue }
                    let dropped = Set(rows["dropped"] as? [Int] ?? [])
                    var all = offers["\(system) \(channel)"] ?? []
                    all.removeAll { dropped.contains($0["createdAt"] as? Int ?? 0) }
                    all += rows["offers"] as? [Object] ?? []
                    offers["\(system) \(channel)"] = all
                }
            }
        }

        var releases: [Object] {
            pointers.values.flatMap { ($0 as? Object)?["releases"] as? [Object] ?? [] }
        }
    }

    private func object(_ file: ModelStore.File?) -> Object? {
        guard let file else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(file.bytes))) as? Object
    }

    private func entries(_ files: [String: ModelStore.File]) -> [Object] {
        files.keys.filter { $0.hasPrefix("log/") }.sorted().compactMap { object(files[$0]) }
    }

    /// I1 for what the clients of other systems need; and no copy names what is not there, nor is half of a change.
    func check(after when: String) {
        let changeCount = store.changeCount
        guard checkedCount.exchange(changeCount, ordering: .relaxed) != changeCount else { return }
        let files = store.files
        // Without its first entry there is no log.
        guard files["log/0000000001.json"] != nil else { return checkCopies(files, when) }
        let entries = entries(files)
        guard let end = entries.last else { return }
        let kept = end["kept"] as? Int ?? 1
        var replay = Replay()
        var needed: Set<String> = []
        for (position, entry) in entries.enumerated() {
            replay.add(entry)
            guard position + 1 >= kept else { continue }
            for release in replay.releases { needed.formUnion(Self.keys(of: release, files)) }
            for (name, offers) in replay.offers {
                needed.formUnion(Self.documents(of: offers, name))
            }
        }
        for key in needed where files[key] == nil { say("\(key) is not there", when) }
        checkCopies(files, when)
    }

    /// A reader looks at the pointer first: then the history has an offer of all that the pointer offers.
    private func checkCopies(_ files: [String: ModelStore.File], _ when: String) {
        guard let pointer = object(files["channels/stable.json"]) else { return }
        for system in ["codepush", "expo"] {
            guard let configuration = object(files["for/\(system)/config.json"]),
                configuration["enabled"] as? Bool != false
            else { continue }
            let history = object(files["for/\(system)/stable.json"])
            let offers = history?["offers"] as? [Object] ?? []
            for release in pointer["releases"] as? [Object] ?? [] {
                guard let facts = release["facts"] as? String else { continue }
                let offer = offers.last {
                    $0["sequence"] as? Int == release["sequence"] as? Int
                        && $0["facts"] as? String == facts
                }
                guard let offer else {
                    say("\(system) has no offer of \(release["version"] ?? "?")", when)
                    continue
                }
                for key in Self.documents(of: [offer], "\(system) stable") where files[key] == nil {
                    say("a history names \(key), which is not there", when)
                }
            }
        }
    }

    /// When all commands have ended: copies are the log's, and labels were given once.
    func checkEnd() {
        let files = store.files
        let entries = entries(files)
        var replay = Replay()
        for entry in entries { replay.add(entry) }
        for (name, offers) in replay.offers {
            let parts = name.split(separator: " ")
            let path = "for/\(parts[0])/\(parts[1]).json"
            let copy = object(files[path])
            if copy?["offers"] as? NSArray != offers as NSArray {
                say("\(path) lags behind", "the end")
            }
            let clients = entries.last?["clients"] as? [String: Object]
            let places = clients?[String(parts[0])]?["histories"] as? [String: Int]
            if copy?["log"] as? Int != places?[String(parts[1])] {
                say("\(path) names another entry", "the end")
            }
            let labels = offers.compactMap { $0["label"] as? String }
            if Set(labels).count != labels.count { say("labels \(labels)", "the end") }
            let configuration = replay.configurations[String(parts[0])] as? Object
            guard parts[1] == "stable", configuration?["enabled"] as? Bool != false else {
                continue
            }
            for version in acknowledged.withLock({ $0 })
            where replay.releases.contains(where: { $0["version"] as? String == version }) {
                if !offers.contains(where: { $0["version"] as? String == version }) {
                    say("\(parts[0]) was never told of \(version)", "the end")
                }
            }
        }
        for (system, value) in replay.configurations {
            var copy = object(files["for/\(system)/config.json"])
            copy?["log"] = nil
            if copy as NSDictionary? != value as? NSDictionary {
                say("the configuration of \(system) lags behind", "the end")
            }
        }
    }

    private static func root(_ epoch: Int) -> String { epoch == 0 ? "" : "e/\(epoch)/" }

    private static func documents(of offers: [Object], _ name: String) -> [String] {
        let system = name.prefix { $0 != " " }
        return offers.flatMap { $0["documents"] as? [Object] ?? [] }.map {
            root($0["epoch"] as? Int ?? 0)
                + "for/\(system)/documents/\($0["address"] as? String ?? "")"
        }
    }

    /// The facts of a release and all deflated copies, where they should stand.
    private static func keys(of release: Object, _ files: [String: ModelStore.File]) -> [String] {
        guard let address = release["facts"] as? String else { return [] }
        let epoch = release["factsEpoch"] as? Int ?? 0
        let key = root(epoch) + "facts/\(address).json"
        guard let bytes = files[key]?.bytes, let facts = try? ContentFacts(parsing: bytes) else {
            return [key]
        }
        let deflatedCopies = Set(facts.objects.compactMap { $0.deflatedCopy?.address.description })
            .sorted()
        var epochs = deflatedCopies.map { _ in epoch }
        var keys = [key]
        if let places = release["factsPlaces"] as? String {
            let key = root(epoch) + "places/\(places).json"
            keys.append(key)
            let document =
                (files[key]?.bytes).flatMap {
                    try? JSONSerialization.jsonObject(with: Data($0)) as? Object
                }
            let runs = document?["runs"] as? [[Int]] ?? []
            epochs = runs.flatMap { run in Array(repeating: run[0], count: run[1]) }
        }
        guard epochs.count == deflatedCopies.count else {
            return keys + ["places that fit \(address)"]
        }
        return keys
            + zip(deflatedCopies, epochs).map {
                root($1) + "deflated/\($0.prefix(2))/\($0.dropFirst(2))"
            }
    }
}
