public import CASStore
package import HotPush
import Storage

package struct PlannedFacts: Sendable, Hashable {
    package var facts: ContentFacts
    package var address: ObjectID
    package var writesFile: Bool
    package var deflatedCopies = FileFigures()
}

/// What publishing a version writes, decided before anything is written and then carried out exactly.
public struct PublishPlan: Sendable, Hashable {
    package var version: PublishedVersion
    /// The objects to be written, sorted by address.
    public var objects: [Reference]
    /// How many objects of the version the origin has already.
    public var reusedObjectCount: Int
    /// Their size.
    public var reusedByteCount: Int64
    /// Whether to write the manifest, which the origin does not have.
    public var writesManifest: Bool
    package var packing: PackReport?
    /// What other systems' clients need of it; `nil` if the channel is announced to none.
    package var facts: PlannedFacts?
    /// What the channel offers afterwards.
    package var pointer: ChannelPointer
    /// What it offers before; `nil` for a new channel.
    package var before: ChannelPointer?
    /// Whether to write the pointer; otherwise it already offers exactly this.
    public var writesPointer: Bool

    /// The size of the objects to be written.
    public var byteCount: Int64 { objects.reduce(0) { $0 + $1.byteCount } }

    private static func blocks(of byteCount: Int64) -> Int64 { (byteCount + 4_095) / 4_096 * 4_096 }

    /// The space kept free for directories.
    static let reservedByteCount: Int64 = 1 << 20
}

extension PublishPlan {
    init(
        _ version: PublishedVersion, sending objects: [Reference], of upload: ReleaseUpload,
        writesManifest: Bool, packing: PackReport?, facts: PlannedFacts?, pointer: ChannelPointer,
        before: ChannelPointer?, writesPointer: Bool
    ) {
        self.init(
            version: version, objects: objects,
            reusedObjectCount: upload.objects.count - objects.count,
            reusedByteCount: upload.byteCount - objects.reduce(0) { $0 + $1.byteCount },
            writesManifest: writesManifest, packing: packing, facts: facts, pointer: pointer,
            before: before, writesPointer: writesPointer)
    }

    /// - Throws: `.outOfSpace` unless files of these sizes fit, and some more for directories.
    static func checkSpace(
        for files: [Int64], in storage: any ObjectStorage
    ) throws(StoreError) {
        guard let work = storage.work, !files.isEmpty else { return }
        let needed = files.reduce(Int64(0)) { $0.addingClamped(blocks(of: $1)) }
        let available = try work.freeByteCount()
        guard available < needed.addingClamped(reservedByteCount) else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(work.place)): \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free, and \(sizeText(reservedByteCount)) must stay free; castree prune deletes files that no channel offers"
        )
    }
}
