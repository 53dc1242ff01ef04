import CASStore
import HotPush
import StrictJSON

/// What the deliveries of an origin were made from: `.publish/packed.json`.
///
/// It is derived, and empty if unreadable. It says which kept frames are still useful, and for which contents a pack
/// was considered, so that a useless one is not tried again.
struct PackingRecord: Sendable, Hashable {
    struct Work: Sendable, Hashable {
        var content: ObjectID
        /// The contents from which packs were to lead.
        var bases: Set<ObjectID>
        var frames: Set<ObjectID>
    }

    var works: [ObjectID: Work] = [:]

    private static let byteCountMax = 64 << 20

    var frames: Set<ObjectID> { works.values.reduce(into: []) { $0.formUnion($1.frames) } }

    static func read(
        _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> PackingRecord {
        let bytes = try allowing(
            \.isOfCache,
            try fileSystem.contents(publishing, OriginLayout.packed, limit: byteCountMax))
        // An unreadable record counts as empty.
        guard let bytes, let document = try? JSONValue.parse(bytes) else { return PackingRecord() }
        var record = PackingRecord()
        for member in document["deliveries"]?.asObject ?? [] {
            guard let delivery = ObjectID(member.key),
                let content = member.value["content"]?.asString.flatMap(ObjectID.init)
            else { continue }
            record.works[delivery] = Work(
                content: content, bases: addresses(member.value["bases"]),
                frames: addresses(member.value["frames"]))
        }
        return record
    }

    private static func addresses(_ value: JSONValue?) -> Set<ObjectID> {
        Set((value?.asArray ?? []).compactMap { $0.asString.flatMap(ObjectID.init) })
    }

    /// - Parameters:
    ///   - publishing: the origin's `.publish/`.
    ///   - aside: the directory of the temporary file.
    func write(
        _ publishing: Int32, aside: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        func list(_ addresses: Set<ObjectID>) -> JSONValue {
            .array(addresses.sorted().map { .string($0.description) })
        }
        let works = JSONValue.object(
            works.map { delivery, work in
                let document = JSONValue.members([
                    "bases": list(work.bases), "content": .text(work.content),
                    "frames": list(work.frames),
                ])
                return .init(key: delivery.description, value: document)
            })
        let name = ".\(OriginLayout.packed).new"
        try fileSystem.removeIfPresent(aside, name)
        let file = try fileSystem.open(aside, name, .creating, mode: 0o666)
        try fileSystem.write(file.raw, JSONValue.members(["deliveries": works]).fileBytes)
        try fileSystem.rename(aside, name, to: publishing, OriginLayout.packed)
    }
}
