import CASStore
import VersionTree

/// The packs that are to be made of a version, wherever the origin is: planned, then made.
struct PackPreparation {
    private let manifest: Manifest
    private let version: PublishedVersion
    private let need: PackNeed
    private let contents: [PackedContent]
    private let options: PublisherOptions

    /// - Parameter contents: those of the lacking bases that can be read.
    init(
        _ manifest: Manifest, _ version: PublishedVersion, _ need: PackNeed,
        from contents: [PackedContent], _ options: PublisherOptions
    ) {
        self.manifest = manifest
        self.version = version
        self.need = need
        self.contents = contents
        self.options = options
    }

    private var target: PackedContent {
        PackedContent(version: version.name.description, content: version.content, manifest)
    }

    /// What is to be made.
    var planned: PackReport { PackReport(planned: target, need, from: contents) }

    /// - Parameters:
    ///   - directory: in which packs are made.
    ///   - name: what it is called, for people.
    ///   - advice: how to make room.
    ///   - fetchedByteCount: what is fetched there to make packs from it.
    /// - Throws: `.outOfSpace` unless there is about enough room.
    func checkSpace(
        in directory: Int32, _ name: String, _ advice: String, fetching fetchedByteCount: Int64 = 0,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let needed = planned.spaceNeeded.addingClamped(fetchedByteCount)
        let available = try fileSystem.freeSpace(directory).available
        guard available < needed else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(name) to make packs: about \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free; \(advice)")
    }

    /// Makes the packs and leaves them in the place.
    /// - Throws: `.interrupted`; `.missingObject`, `.damagedObject`; what reading and writing throws.
    func run(in place: PackingPlace, source: PackSource) throws(StoreError) -> PreparedPacks {
        let report = options.progress
        let progress = PackingProgress(
            expected: planned.packs.reduce(0) { $0.addingClamped($1.contentByteCount) },
            isInterrupted: options.isInterrupted
        ) { done, total in
            report(PublishProgress(bytes: done, bytesTotal: total, step: .packing))
        }
        progress.tick()
        let packer = Packer(
            place: place, source: source, options: options.packs, progress: progress,
            notice: options.notice)
        let result: Packer.Result
        do throws(StoreError) {
            result = try packer.pack(
                target, manifest: manifest.serialized(), whole: need.needsWhole, from: contents)
        } catch {
            guard error.code == .outOfSpace else { throw error }
            let available = try place.fileSystem.freeSpace(place.publishing.raw).available
            throw StoreError(
                .outOfSpace,
                "\(error.message); packs need about \(sizeText(planned.spaceNeeded)), \(sizeText(available)) are free",
                cause: error.cause)
        }
        return PreparedPacks(
            content: version.content, manifest: version.manifest, result: result, need: need,
            place: place, frameCounts: progress.frameCounts)
    }
}

extension PublisherOptions {
    /// Packs only save: where there is no room for them, the release does without.
    func withRoom<R>(
        for version: PublishedVersion, in origin: String, _ channel: ChannelName,
        besides others: [StoreError.Code] = [], _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code == .outOfSpace || others.contains(error.code) else { throw error }
            let remedy =
                switch error.code {
                case .outOfSpace: "make room, then"
                case .readOnly, .permission: "make the store's directory writable, then"
                default: "then"
                }
            notice(
                "no packs are made of version \(version.name): \(error.message); \(remedy) run "
                    + "castree pack \(version.name) \(origin) --channel \(channel)")
            return nil
        }
    }
}
