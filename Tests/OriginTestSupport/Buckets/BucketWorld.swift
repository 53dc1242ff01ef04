import HotPush
package import Origin
import Synchronization

/// A bucket in memory, a store with versions to publish, and the promises that hold after every request.
///
/// What is promised is read from the bucket's files alone, as `docs/buckets.md` describes them.
package final class BucketWorld: Sendable {
    package let store: ModelStore
    package var versions: VersionStore { sourceStore.temporary.versions }
    private let sourceStore: SourceStore
    /// Acknowledged: version and channel.
    private let acknowledged = Mutex<[(version: String, channel: String)]>([])
    /// The entries as they were first seen.
    private let entries = Mutex<[String: [UInt8]]>([:])
    private let problem = Mutex<[String]>([])
    /// Every pointer that a device could read, and until when.
    private let readable = Mutex<[ReadPointer]>([])
    /// For so many seconds a device finds what a pointer names.
    private let graceHeld = Atomic<Int64>(0)

    /// Versions `1` to `5`, which many worlds publish: each shares a file with its neighbours, `5` has what `1` had.
    package final class SourceStore: Sendable {
        package let temporary: TemporaryStore

        /// - Parameter only: the versions that the store has, if not all.
        package init(only: Set<String>? = nil) throws {
            temporary = try TemporaryStore()
            // All have much in common: what leads from one version to the next is worth a pack.
            var random = SeededRandom(seed: 9)
            let text = (0..<1_500).map { _ in String(UInt8.random(in: 0...9, using: &random)) }
                .joined()
            for (number, content) in ["abc", "bcd", "cde", "def", "abf"].enumerated() {
                guard only?.contains("\(number + 1)") ?? true else { continue }
                var files: [String: String] = [:]
                for letter in content { files["\(letter).txt"] = "content \(letter) \(text)" }
                try temporary.add("\(number + 1)", files)
            }
        }
    }

    package init(
        _ sourceStore: SourceStore? = nil, _ dialect: ModelDialect = ModelDialect(),
        offering versions: String..., packs: PackOptions.Timing = .never
    ) throws {
        self.sourceStore = try sourceStore ?? SourceStore()
        store = ModelStore(dialect)
        for version in versions { try publish(version, by: publisher(packs: packs)) }
    }

    /// A world of its own in which all has happened that happened in another one.
    package init(copying other: BucketWorld) {
        sourceStore = other.sourceStore
        store = ModelStore(copying: other.store)
        acknowledged.withLock { $0 = other.acknowledged.withLock { $0 } }
        entries.withLock { $0 = other.entries.withLock { $0 } }
        readable.withLock { $0 = other.readable.withLock { $0 } }
        problem.withLock { $0 = other.broken }
    }

    /// From now on a device that has read a pointer may take so many seconds for what it names.
    package func hold(grace: Int64) { graceHeld.store(grace, ordering: .relaxed) }

    private struct ReadPointer {
        let key: String
        let file: ModelStore.File
        var lastSeenAt: Int64
        /// Whether it stood there when somebody looked last.
        var isThere = true
    }

    /// How often the store had changed when somebody looked last.
    private let checkedCount = Atomic<Int>(-1)

    package func bucket(
        _ actor: String = "one", rights: ModelRights = .all,
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> ModelStorage {
        ModelStorage(
            store, actor: actor, rights: rights,
            afterEach: { [unowned self] request in check(after: "\(request)") },
            schedule: schedule)
    }

    package func publisher(
        _ actor: String = "one", packs: PackOptions.Timing = .never,
        schedule: @escaping RequestSchedule = { _ in .answered },
        options change: (inout PublisherOptions) -> Void = { _ in }
    ) -> OriginPublisher {
        let clock = store.clock
        var options = PublisherOptions()
        options.isDurable = false
        options.packs.timing = packs
        options.packs.level = 1
        change(&options)
        return OriginPublisher(
            bucket(actor, schedule: schedule), options: options, now: { clock.now },
            pause: { _ in clock.advance(1) })
    }

    @discardableResult
    package func publish(
        _ version: String, to channel: String = "stable", by publisher: OriginPublisher? = nil
    ) throws -> OriginCommit {
        let commit = try (publisher ?? self.publisher()).publish(
            version, of: versions, as: ReleaseOffer(channel: try ChannelName(channel)))
        acknowledged.withLock { $0.append((version, channel)) }
        return commit
    }

    // MARK: Promises

    package var broken: [String] { problem.withLock { $0 } }

    private func say(_ what: String, _ when: String) {
        problem.withLock { if $0.count < 20 { $0.append("\(what), after \(when)") } }
    }

    /// I2: who has read a pointer finds all of it for the grace.
    private func checkReaders(_ files: [String: ModelStore.File], _ when: String) {
        let (now, grace) = (store.clock.now, graceHeld.load(ordering: .relaxed))
        let pointers = readable.withLock { readable -> [ReadPointer] in
            for place in readable.indices where readable[place].isThere {
                // Until this change it could be read.
                readable[place].lastSeenAt = now
                readable[place].isThere = false
            }
            for (key, file) in files where key.hasPrefix("channels/") {
                if let place = readable.firstIndex(where: {
                    $0.key == key && $0.file.bytes == file.bytes
                }) {
                    readable[place].lastSeenAt = now
                    readable[place].isThere = true
                } else {
                    readable.append(ReadPointer(key: key, file: file, lastSeenAt: now))
                }
            }
            readable.removeAll {
                now - $0.lastSeenAt >= grace && files[$0.key]?.bytes != $0.file.bytes
            }
            return readable
        }
        for pointer in pointers {
            for release in releases(["": object(pointer.file) ?? [:]]) {
                for key in Self.keys(of: release, files) where files[key] == nil {
                    say(
                        "\(key) has gone, which \(pointer.key) named \(now - pointer.lastSeenAt) s ago",
                        when)
                }
            }
        }
    }

    /// I1, I2 and I4: all that the log and the pointers offer is there, and entries never change.
    package func check(after when: String) {
        // What was read changes no file.
        let changeCount = store.changeCount
        guard checkedCount.exchange(changeCount, ordering: .relaxed) != changeCount else { return }
        let files = store.files
        checkReaders(files, when)
        let log = files.keys.filter { $0.hasPrefix("log/") }.sorted()
        for (position, key) in log.enumerated() {
            if key != Self.entry(position + 1) { say("gap at \(key)", when) }
            let bytes = files[key]?.bytes ?? []
            let before = entries.withLock { entries -> [UInt8] in
                let before = entries[key] ?? bytes
                entries[key] = before
                return before
            }
            if before != bytes { say("\(key) has changed", when) }
        }
        for key in entries.withLock({ $0.keys.sorted() }) where files[key] == nil {
            say("\(key) is gone", when)
        }
        guard let last = log.last, let end = object(files[last]) else { return }
        let kept = end["kept"] as? Int ?? 0
        var offered: [[String: Any]] = []
        for number in min(kept, log.count)...log.count where number > 0 {
            guard let entry = object(files[Self.entry(number)]) else { continue }
            offered += releases(entry["pointers"])
        }
        for place in (end["channels"] as? [String: Int] ?? [:]).values.sorted() {
            offered += releases(object(files[Self.entry(place)])?["pointers"])
        }
        let first = object(files[Self.entry(max(kept, 1))])
        for place in (first?["channels"] as? [String: Int] ?? [:]).values.sorted() {
            offered += releases(object(files[Self.entry(place)])?["pointers"])
        }
        for release in offered {
            for key in Self.keys(of: release, files) where files[key] == nil {
                say("\(key) of \(release["version"] ?? "?") is not there", when)
            }
        }
    }

    /// I3 and I5, when all commands have ended and no write is on its way.
    package func checkEnd() {
        let files = store.files
        let log = files.keys.filter { $0.hasPrefix("log/") }.sorted()
        guard let last = log.last, let end = object(files[last]) else { return }
        for (channel, place) in end["channels"] as? [String: Int] ?? [:] {
            let pointers = object(files[Self.entry(place)])?["pointers"] as? [String: Any]
            let copy = object(files["channels/\(channel).json"])
            let said = pointers?[channel] as? NSDictionary
            if (copy as NSDictionary?) != said {
                say("channels/\(channel).json is not the log's", "the end")
            }
        }
        var counts: [String: Int] = [:]
        for key in log {
            guard let entry = object(files[key]), let kind = entry["kind"] as? String else {
                continue
            }
            if kind == "pack" { counts["packs", default: 0] += 1 }
            guard kind == "publish" else { continue }
            for (channel, pointer) in entry["pointers"] as? [String: [String: Any]] ?? [:] {
                let head = (pointer["releases"] as? [[String: Any]])?.first
                // With packs it is another offer than without.
                let delivery = head?["delivery"] as? String ?? ""
                counts["\(channel) \(head?["version"] ?? "") \(delivery)", default: 0] += 1
            }
        }
        for (version, channel) in acknowledged.withLock({ $0 }) {
            if !counts.keys.contains(where: { $0.hasPrefix("\(channel) \(version) ") }) {
                say("\(version) was acknowledged in vain", "the end")
            }
        }
        for (what, count) in counts where count > 1 {
            say("\(what) stands in the log \(count) times", "the end")
        }
    }

    package func expectEnd(_ comment: Comment? = nil) {
        checkEnd()
        expect(broken, equals: [], comment)
    }

    /// What a channel offers, as the log says.
    package func offered(_ channel: String = "stable") throws -> [String] {
        let pointers = try publisher("reader").pointers()
        return pointers[try ChannelName(channel)]?.releases.compactMap {
            $0.version?.name.description
        }
            ?? []
    }

    private static func entry(_ number: Int) -> String { String(format: "log/%010d.json", number) }

    private static func keys(
        of release: [String: Any], _ files: [String: ModelStore.File]
    ) -> [String] {
        let epoch = release["epoch"] as? Int ?? 0
        func place(_ path: String, _ epoch: Int) -> String {
            epoch == 0 ? path : "e/\(epoch)/\(path)"
        }
        guard let address = release["manifest"] as? String else { return [] }
        let manifestKey = place("manifests/\(address).json", epoch)
        var keys = [manifestKey]
        guard let file = files[manifestKey], let manifest = try? Manifest(parsing: file.bytes)
        else { return keys }
        let addresses = Set(manifest.entries.map(\.address.description)).sorted()
        var epochs = Array(repeating: epoch, count: addresses.count)
        if let places = release["places"] as? String {
            let key = place("places/\(places).json", epoch)
            keys.append(key)
            if let file = files[key],
                let runs =
                    (try? JSONSerialization.jsonObject(with: Data(file.bytes)) as? [String: Any])?[
                        "runs"] as? [[Int]]
            {
                epochs = runs.flatMap { Array(repeating: $0[0], count: $0[1]) }
            }
        }
        keys += packKeys(of: release, files)
        if epochs.count != addresses.count { return keys + ["places that fit \(address)"] }
        for (address, epoch) in zip(addresses, epochs) {
            keys.append(place("objects/\(address.prefix(2))/\(address.dropFirst(2))", epoch))
        }
        return keys
    }

    private static func packKeys(
        of release: [String: Any], _ files: [String: ModelStore.File]
    ) -> [String] {
        guard let address = release["delivery"] as? String else { return [] }
        let epoch = release["deliveryEpoch"] as? Int ?? 0
        let root = epoch == 0 ? "" : "e/\(epoch)/"
        let key = "\(root)deliveries/\(address).json"
        guard let bytes = files[key]?.bytes,
            let delivery = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { return [key] }
        guard delivery["manifest"] as? String == release["manifest"] as? String,
            bytes.count == release["deliveryBytes"] as? Int
        else { return [key, "a delivery that leads to \(release["version"] ?? "?")"] }
        let packs = delivery["packs"] as? [[String: Any]] ?? []
        return [key]
            + packs.compactMap { $0["address"] as? String }.map {
                "\(root)packs/\($0.prefix(2))/\($0.dropFirst(2))"
            }
    }

    private func object(_ file: ModelStore.File?) -> [String: Any]? {
        guard let file else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(file.bytes))) as? [String: Any]
    }

    private func releases(_ pointers: Any?) -> [[String: Any]] {
        (pointers as? [String: [String: Any]] ?? [:]).values.flatMap {
            $0["releases"] as? [[String: Any]] ?? []
        }
    }
}
