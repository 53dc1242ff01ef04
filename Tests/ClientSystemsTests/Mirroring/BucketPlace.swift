import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// An origin in a bucket in memory, written key by key as a publisher writes it (docs/origin-format.md, "In buckets").
///
/// Unchecked: a test uses it from one thread at a time.
final class BucketPlace: @unchecked Sendable {
    let store = ModelStore()
    let directory = TemporaryDirectory()
    private let local: ServedPlace
    /// In which epoch each file was written, by its path without one.
    private var epochs: [String: Int64] = [:]
    private var places: [ObjectID: (version: Int64, places: ObjectID?, facts: Int64)] = [:]
    private(set) var log: Int64 = 1
    /// What is offered no more.
    private var withdrawn: Set<Int64> = []

    /// What a publisher does one after the other, each a key and its bytes; `nil` deletes.
    typealias Step = (key: String, bytes: [UInt8]?)

    static let pointerKey = OriginLayout.pointer(.stable)
    static let historyKey = OriginLayout.clientHistory(of: .stable, ModelFeed.system.rawValue)
    static let configurationKey = OriginLayout.clientConfiguration(of: ModelFeed.system.rawValue)

    init() throws {
        local = try ServedPlace()
        for path in ["origin.json", Self.configurationKey] {
            store.set(path, try contents(path), .pointer)
        }
        store.set("channels.json", Array(#"{"channels":["stable"]}"#.utf8 + [10]), .pointer)
    }

    private func contents(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: local.directory.appending(path))))
    }

    /// Writes the files of a version in an epoch; the history and the pointer are the steps that are left.
    func begin(
        _ name: String, _ files: [String: String], epoch: Int64 = 0
    ) throws -> [Step] {
        _ = try local.begin(name, files)
        log = max(log + 1, epoch + 1)
        let release = try require(local.pointer.releases.first)
        let version = try require(release.version)
        let facts = try require(release.facts).address
        var objects: Set<ObjectID> = []
        for text in files.values {
            let address = try address(of: Array(text.utf8))
            objects.insert(address)
            try put(.object, address, in: epoch)
        }
        try put(.manifest, version.manifest, in: epoch)
        try put(.facts, facts, in: epoch)
        let all = objects.sorted().map { epochs[OriginLayout.path(.object, $0)] ?? 0 }
        let placed = Places(all)
        var address: ObjectID?
        if placed.areNeeded(in: epoch) {
            let bytes = placed.serialized()
            address = try StorageTestSupport.address(of: bytes)
            store.set(OriginLayout.path(.places, try require(address), in: epoch), bytes)
        }
        places[version.manifest] = (epoch, address, epoch)
        return try steps()
    }

    private func put(_ kind: OriginKey.Kind, _ address: ObjectID, in epoch: Int64) throws {
        let name = OriginKey(kind, address)
        guard epochs[name.path(in: 0)] == nil else { return }
        epochs[name.path(in: 0)] = epoch
        store.set(name.path(in: epoch), try contents(name.path(in: 0)))
    }

    /// The copies of the newest entry of the log, in the order in which they are written; the entry is there before.
    private func steps() throws -> [Step] {
        try writeEntry()
        return [(Self.historyKey, history.serialized()), (Self.pointerKey, pointer.serialized())]
    }

    /// Writes the newest entry of the log.
    private func writeEntry(_ configuration: ClientConfiguration? = nil) throws {
        let system = try require(AnnouncedSystem(ModelFeed.system.rawValue))
        let name = HistoryName(system: system, channel: .stable)
        let file = history.file
        var entry = LogEntry(
            kind: .publish, createdAt: 1, author: String(repeating: "0", count: 32), keptFrom: 1)
        entry.channels = [.stable: log]
        entry.pointers = [.stable: pointer]
        entry.rows[name] = HistoryRows(
            before: 0, count: Int64(file.offers.count), labelCount: file.labelCount,
            offers: file.offers, digest: try file.digest())
        var places = ClientPlaces(histories: [.stable: log])
        if let configuration {
            places.configuration = log
            entry.configurations[system] = try JSONValue.parse(configuration.serialized())
        }
        entry.clients = [system: places]
        store.set(OriginLayout.logEntry(log), entry.serialized())
    }

    /// Sets anew what the operator wants, in an entry of its own.
    func configure(_ deployments: [String: ChannelName], baseURL: String) throws -> Step {
        log += 1
        var configuration = ClientConfiguration(
            ModelFeed.system, baseURL: baseURL, deployments: deployments)
        try writeEntry(configuration)
        configuration.log = log
        return (Self.configurationKey, configuration.serialized())
    }

    var history: ClientHistory {
        var history = local.history
        history.log = log
        return history
    }

    /// The pointer with the epochs of all that it names.
    var pointer: ChannelPointer {
        var pointer = local.pointer
        pointer.sequence += Int64(withdrawn.count)
        pointer.log = log
        pointer.releases.removeAll { withdrawn.contains($0.sequence) }
        for index in pointer.releases.indices {
            guard case .version(var version) = pointer.releases[index].target,
                let place = places[version.manifest]
            else { continue }
            (version.epoch, version.places) = (place.version, place.places)
            pointer.releases[index].target = .version(version)
            pointer.releases[index].facts?.epoch = place.facts
        }
        return pointer
    }

    /// Takes the newest release back, or the oldest with `isPruned`, whose files are deleted, too.
    func withdraw(isPruned: Bool = false) throws -> [Step] {
        let releases = pointer.releases
        let gone = try require(isPruned ? releases.last : releases.first)
        withdrawn.insert(gone.sequence)
        log += 1
        let steps = try steps()
        guard isPruned, let version = gone.version, let facts = gone.facts?.address else {
            return steps
        }
        let names = [OriginKey(.manifest, version.manifest), OriginKey(.facts, facts)]
        return steps + names.map { name -> Step in (name.path(in: version.epoch), nil) }
    }

    func take(_ step: Step, in other: ModelStore? = nil) {
        (other ?? store).set(step.key, step.bytes, .pointer)
    }

    func publish(_ name: String, _ files: [String: String], epoch: Int64 = 0) throws {
        for step in try begin(name, files, epoch: epoch) { take(step) }
    }

    // MARK: Mirrors

    func bucket(
        on other: ModelStore? = nil, _ schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> ModelStorage {
        ModelStorage(other ?? store, rights: [.get, .list], schedule: schedule)
    }

    /// A mirror that has looked once, and what it answers.
    func mirror(
        _ bucket: some ObjectStorage, at name: String = "cache", byteCount: Int64 = 1 << 30,
        timeout: Int64? = nil,
        notices: Notices = Notices(),
        on fileSystem: any FileSystem = POSIXFileSystem()
    ) throws -> (mirror: OriginMirror, answers: OriginAnswers) {
        var options = CachedStorage.Options()
        options.byteCount = byteCount
        options.timeout = timeout ?? options.timeout
        options.notice = notices.sink
        let mirror = try OriginMirror(
            bucket, at: directory.appending(name), options, on: fileSystem)
        let reader = OriginReader(
            try mirror.begin(), whyUnseen: { [weak mirror] in mirror?.whyUnseen($0) })
        return (mirror, OriginAnswers(reader, feeds: [ModelFeed.self]))
    }

    /// The archive that the channel offers now.
    static func archive(_ answers: OriginAnswers) throws -> AnswerBody {
        let request = ClientRequest("GET", "/model/KEY/archive")
        let answer = try require(try answers.answer(request, mayRead: true))
        guard case .composed(let body) = answer.body else {
            throw StoreError(.mismatch, "no archive: \(answer.status)")
        }
        return body
    }
}

/// What was asked for, and fates of requests, by their keys.
final class Fates: Sendable {
    private let fates = Mutex<[String: RequestFate]>([:])
    private let asked = Mutex<[String]>([])
    var keys: [String] { asked.withLock { $0 } }
    func set(_ fate: RequestFate?, of key: String) { fates.withLock { $0[key] = fate } }
    func meet(_ request: ModelRequest) -> RequestFate {
        asked.withLock { $0.append(request.key) }
        return fates.withLock { $0[request.key] } ?? .answered
    }
}

extension OriginKey {
    /// Its path where it stands in an epoch.
    func path(in epoch: Int64) -> String { OriginKey(kind, address, in: epoch).path }
}

extension PlacedFile {
    init(_ name: OriginKey, in epoch: Int64) {
        self.init(OriginKey(name.kind, name.address, in: epoch))
    }
}
