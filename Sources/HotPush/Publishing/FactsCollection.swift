import CASStore

/// The part of collecting an origin that is about facts and twins.
///
/// Neither keeps an object or a manifest; the clients of other systems need both.
final class FactsCollection {
    private let directories: OriginWriter.FactsDirectories
    private let reader: DirectoryOrigin
    private let fileSystem: any FileSystem

    /// - Returns: `nil` for an origin that never had facts.
    init?(in origin: OriginWriter) throws(StoreError) {
        guard let directories = try origin.factsDirectories() else { return nil }
        self.directories = directories
        reader = try DirectoryOrigin(origin.path, fileSystem: origin.fileSystem)
        fileSystem = origin.fileSystem
    }

    /// Adds to a plan the facts that no pointer names and that have waited long enough, and the twins that no remaining
    /// facts name.
    /// - Parameter before: since when no pointer has named facts, by their address.
    /// - Returns: the same, as it is now.
    /// - Throws: also `.damagedOrigin` if it cannot be told which twins a release needs.
    func plan(
        _ plan: inout OriginCollectionPlan, _ retention: OriginRetention,
        since before: [ObjectID: Int64], now: Int64, in origin: OriginWriter
    ) throws(StoreError) -> [ObjectID: Int64] {
        var pointers = try origin.pointers()
        for pointer in plan.pointers { pointers[pointer.channel] = pointer }
        var standing = Self.facts(of: pointers.values)
        var since: [ObjectID: Int64] = [:]
        let all = try fileSystem.names(in: directories.facts.raw)
            .compactMap(OriginLayout.address(ofManifestFile:))
        for facts in all.sorted() where !standing.contains(facts) {
            let start = before[facts] ?? now
            if retention.graceSeconds > 0, now - start < retention.graceSeconds {
                since[facts] = start
                plan.waitingFacts.append(facts)
            } else {
                plan.facts.append(facts)
            }
        }
        standing.formUnion(plan.waitingFacts)
        plan.twins = try origin.stored(in: directories.twins.raw, except: twins(of: standing))
        return since
    }

    /// The facts that pointers name, and the twins that these name.
    func named(
        by pointers: some Sequence<ChannelPointer>
    ) throws(StoreError) -> Set<ObjectID> {
        let facts = Self.facts(of: pointers)
        return try facts.union(twins(of: facts))
    }

    /// Deletes that part of a plan for which it is time.
    func delete(
        _ plan: OriginCollectionPlan, in origin: OriginWriter, where isNow: (ObjectID) -> Bool
    ) throws(StoreError) {
        let facts = plan.facts.filter(isNow)
        for facts in facts {
            try fileSystem.removeIfPresent(
                directories.facts.raw, OriginLayout.manifestFile(facts))
        }
        // Facts that came back after a power cut would name twins that are gone.
        if !facts.isEmpty { try origin.sync(directories.facts.raw) }
        for twin in plan.twins where isNow(twin.address) {
            try origin.checkInterruption()
            try StoreLayout.withObjectPath(twin.address) { (path) throws(StoreError) in
                try fileSystem.removeIfPresent(directories.twins.raw, path)
            }
        }
    }

    private static func facts(of pointers: some Sequence<ChannelPointer>) -> Set<ObjectID> {
        Set(pointers.flatMap(\.releases).compactMap(\.facts))
    }

    private func twins(of standing: Set<ObjectID>) throws(StoreError) -> Set<ObjectID> {
        var twins: Set<ObjectID> = []
        for address in standing.sorted() {
            // What is gone leads nobody to a twin; damaged facts may: then nothing is deleted.
            guard let facts = try reader.facts(address) else { continue }
            for object in facts.objects {
                if let twin = object.twin { twins.insert(twin.address) }
            }
        }
        return twins
    }
}
