import CASStore

/// One kind of what a collection of an origin deletes: documents that pointers name by their addresses, and the files in
/// shards that these lead to.
///
/// Manifests lead to objects, deliveries to packs, facts to twins. A document that no pointer names waits out the grace,
/// and keeps what it leads to; then it goes, and with it what no other document of the kind leads to.
protocol CollectedFiles: AnyObject {
    var origin: OriginWriter { get }
    /// The directory of the documents.
    var documents: Int32 { get }
    /// The directory of the shards.
    var shards: Int32 { get }
    var places: CollectedPlaces { get }
    /// Whether all of it can be made again, so that what stays of it costs only room.
    var isDerived: Bool { get }

    /// The document that a release names.
    func document(of release: OfferedRelease) -> ObjectID?

    /// The files that documents lead to.
    /// - Throws: `.damagedOrigin` if nobody can tell.
    func files(of documents: Set<ObjectID>) throws(StoreError) -> Set<ObjectID>
}

/// Where a kind stands in a plan, and in the notes about the grace.
struct CollectedPlaces {
    let documents, waiting: WritableKeyPath<OriginCollectionPlan, [ObjectID]>
    let files: WritableKeyPath<OriginCollectionPlan, [Reference]>
    let since: WritableKeyPath<UnreferencedManifests, [ObjectID: Int64]>
}

extension OriginWriter {
    /// Does something with files that can be made again; where they cannot be read, nothing of them is deleted, and that is
    /// said.
    func unlessClosed<R>(
        _ isDerived: Bool = true, _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard isDerived, error.isOfPlace || error.code == .damagedOrigin else { throw error }
            options.notice("\(error.message); until then nothing of its kind is deleted")
            return nil
        }
    }
}

extension CollectedFiles {
    var isDerived: Bool { true }

    /// Adds to a plan what is to go of this kind, and to the notes what waits.
    ///
    /// - Parameters:
    ///   - pointers: as they will be.
    ///   - before: since when no pointer has named what.
    /// - Throws: as ``files(of:)``: then nothing is deleted.
    func plan(
        _ plan: inout OriginCollectionPlan, _ known: inout UnreferencedManifests,
        _ pointers: some Sequence<ChannelPointer>, _ retention: OriginRetention,
        since before: UnreferencedManifests, now: Int64
    ) throws(StoreError) {
        var standing = named(by: pointers)
        let all = try origin.fileSystem.names(in: documents)
            .compactMap(OriginLayout.address(ofManifestFile:))
        for document in all.sorted() where !standing.contains(document) {
            let start = min(before[keyPath: places.since][document] ?? now, now)
            if retention.graceSeconds > 0, now - start < retention.graceSeconds {
                known[keyPath: places.since][document] = start
                plan[keyPath: places.waiting].append(document)
            } else {
                plan[keyPath: places.documents].append(document)
            }
        }
        standing.formUnion(plan[keyPath: places.waiting])
        plan[keyPath: places.files] = try origin.stored(in: shards, except: files(of: standing))
    }

    /// What a plan is to delete though pointers still name it: it goes when these are replaced.
    func named(
        _ plan: OriginCollectionPlan, by pointers: some Sequence<ChannelPointer>
    ) throws(StoreError) -> Set<ObjectID> {
        let late = named(by: pointers).intersection(plan[keyPath: places.documents])
        do throws(StoreError) {
            return try late.union(files(of: late))
        } catch {
            guard error.code != .interrupted else { throw error }
            // Nobody knows what they lead to: all files must wait.
            return late.union(plan[keyPath: places.files].map(\.address))
        }
    }

    /// Deletes that part of a plan for which it is time.
    func delete(
        _ plan: OriginCollectionPlan, where isNow: (ObjectID) -> Bool
    ) throws(StoreError) {
        let due = plan[keyPath: places.documents].filter(isNow)
        for document in due {
            try origin.removeIfPresent(
                documents, OriginLayout.manifestFile(document))
        }
        // A document that came back after a power cut would name files that are gone.
        if !due.isEmpty { try origin.sync(documents) }
        for file in plan[keyPath: places.files] where isNow(file.address) {
            try origin.checkInterruption()
            try StoreLayout.withObjectPath(file.address) { (path) throws(StoreError) in
                try origin.removeIfPresent(shards, path)
            }
        }
    }

    /// The documents that pointers name.
    func named(by pointers: some Sequence<ChannelPointer>) -> Set<ObjectID> {
        Set(pointers.flatMap(\.releases).compactMap(document(of:)))
    }
}
