import CASStore

/// Packs that are made and have no name in the origin yet; the directory in which they are goes with the value.
struct PreparedPacks: Sendable {
    /// The content to which they lead.
    let content: ObjectID
    /// The manifest to which they lead.
    let manifest: ObjectID
    /// What was made.
    let result: Packer.Result
    /// What was wanted, and what there was.
    let need: PackNeed
    /// Where they are.
    let place: PackingPlace
    /// How many frames were there already, and how many were compressed.
    let frameCounts: (reused: Int, made: Int)

    /// Notes what a delivery was made from, and drops what no delivery of the origin needs.
    ///
    /// When the pointer is written: what is lost here is only made again.
    /// - Parameter offered: the deliveries that pointers of the origin name.
    func note(_ delivery: ObjectID, offered: Set<ObjectID>) throws(StoreError) {
        let offered = offered.union([delivery])
        let publishing = place.publishing.raw
        var record = try PackingRecord.read(publishing, place.fileSystem)
        record.works = record.works.filter { offered.contains($0.key) }
        record.works[delivery] = PackingRecord.Work(
            content: content,
            bases: need.bases.contents.union(need.work?.bases ?? []),
            frames: result.frames.union(need.work?.frames ?? []))
        try record.write(publishing, aside: place.work.raw, place.fileSystem)
        try place.dropUnused(record)
    }
}
