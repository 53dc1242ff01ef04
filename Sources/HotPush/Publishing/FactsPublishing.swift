import CASStore

/// Gives prepared facts, and the twins that were made for them, their places in an origin.
struct FactsPublishing {
    private let origin: OriginWriter
    private let prepared: [PreparedFacts]

    /// - Throws: `.busy` if what they rely on, or they themselves, were pruned while they were made.
    init(_ prepared: [PreparedFacts], to origin: OriginWriter) throws(StoreError) {
        self.origin = origin
        self.prepared = prepared
        // A prune deletes facts before it deletes the twins that only they name.
        let found = prepared.filter(\.isThere).map(\.address)
        for source in Set(prepared.flatMap(\.sources) + found) {
            guard try origin.fileSystem.status(origin.root.raw, OriginLayout.facts(source)) == nil
            else { continue }
            throw StoreError(
                .busy,
                "what the release shares with others was pruned from \(printable(origin.path)) meanwhile; "
                    + "repeat the command")
        }
    }

    /// Whether there is anything to write.
    var isEmpty: Bool { prepared.allSatisfy { $0.isThere && $0.made.isEmpty } }

    /// The room that the files with facts take.
    var byteCount: Int64 { prepared.reduce(0) { $0 + ($1.isThere ? 0 : Int64($1.bytes.count)) } }

    private static func stagedName(_ address: ObjectID) -> String { "facts-\(address)" }

    /// Writes facts aside; the caller makes them and the twins durable, then calls ``publishTwins()``.
    func stage() throws(StoreError) {
        guard !isEmpty else { return }
        let fileSystem = origin.fileSystem
        _ = try origin.makeFactsDirectories()
        for facts in unwritten {
            let file = try fileSystem.open(
                origin.staging.raw, Self.stagedName(facts.address), .creating,
                mode: OriginWriter.fileMode)
            try fileSystem.write(file.raw, facts.bytes)
            if !fileSystem.canSyncAll { try origin.sync(file.raw) }
        }
        guard !fileSystem.canSyncAll else { return }
        for facts in prepared {
            guard let place = facts.place else { continue }
            for object in facts.made {
                let file = try fileSystem.open(
                    place.work.raw, FactsMaking.twinName(of: object.address), .reading, mode: 0)
                try origin.sync(file.raw)
            }
        }
    }

    /// Names the twins; the caller makes the names durable, then calls ``publishFacts()``.
    func publishTwins() throws(StoreError) {
        guard !isEmpty else { return }
        let directories = try origin.makeFactsDirectories()
        for facts in prepared {
            guard let place = facts.place else { continue }
            for object in facts.made {
                guard let twin = object.twin?.address else { continue }
                let shard = try origin.shard(of: twin, in: directories.twins.raw)
                try StoreLayout.withShardName(twin) { (name) throws(StoreError) in
                    try origin.rename(
                        place.work.raw, FactsMaking.twinName(of: object.address),
                        to: shard.raw, name)
                }
            }
        }
    }

    /// Names the facts, durably.
    func publishFacts() throws(StoreError) {
        guard !isEmpty else { return }
        let directories = try origin.makeFactsDirectories()
        for facts in unwritten {
            try origin.rename(
                origin.staging.raw, Self.stagedName(facts.address), to: directories.facts.raw,
                OriginLayout.manifestFile(facts.address))
        }
        try origin.sync(directories.facts.raw)
    }

    /// The files to be written, each once.
    private var unwritten: [PreparedFacts] {
        var seen: Set<ObjectID> = []
        return prepared.filter { !$0.isThere && seen.insert($0.address).inserted }
    }
}

extension OriginWriter {
    /// The directories of twins and facts.
    struct FactsDirectories: ~Copyable {
        let twins, facts: Descriptor
    }

    /// Opens the directories of twins and facts; makes them if need be.
    func makeFactsDirectories() throws(StoreError) -> FactsDirectories {
        FactsDirectories(
            twins: try makeDirectory(OriginLayout.twins, in: root.raw),
            facts: try makeDirectory(OriginLayout.facts, in: root.raw))
    }

    /// The same, or `nil` if the origin has none.
    func factsDirectories() throws(StoreError) -> FactsDirectories? {
        guard
            let twins = try fileSystem.openIfPresent(root.raw, OriginLayout.twins, .directory),
            let facts = try fileSystem.openIfPresent(root.raw, OriginLayout.facts, .directory)
        else { return nil }
        return FactsDirectories(twins: twins, facts: facts)
    }
}
