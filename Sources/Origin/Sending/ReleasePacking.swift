import CASStore
import HotPush
import Storage
import VersionTree

/// Packs that have no name in the origin yet; their directory is removed with the value.
struct PreparedPacks: Sendable {
    let result: Packer.Result
    let need: PackNeed
    let place: PackingPlace
    let frameCounts: (reused: Int, made: Int)
}

/// Makes the packs of a release; belongs to one thread.
final class ReleasePacking {
    let work: Publication
    private var known: [ObjectID: OfferedPacks?] = [:]
    /// The objects fetched to make packs from them.
    private(set) var fetched = (count: 0, byteCount: Int64(0))
    /// The report if there is nothing to make; `nil` if nothing was refused either.
    private var nothing: PackReport?
    private let home: PackingHome
    var prepared: PreparedPacks?
    var draft: DeliveryDraft?
    /// Kept packs that turned out to be gone.
    var lost: Set<ObjectID> = []
    var listed: Set<Int64> = []
    private var storage: any ObjectStorage { work.storage }
    private var versions: VersionStore { work.versions }
    private var version: PublishedVersion { work.version }
    private var options: PublisherOptions { work.options }

    init(_ work: Publication) {
        self.work = work
        home = PackingHome(versions: work.versions, storage: work.storage, options: work.options)
    }

    private var target: PackedContent {
        PackedContent(version: version.name.description, content: version.content, work.manifest)
    }

    /// What making packs would give; `nil` if there is nothing to do.
    func plan(in state: OriginState) throws(StoreError) -> PackReport? {
        let state = state.counted(work.channel, options.signing)
        let need = try need(in: state)
        return need.isMet
            ? PackReport(nothingFor: need)
            : PackReport(planned: target, need, from: try contents(of: need, in: state))
    }

    /// What was brought in, or why nothing was; `nil` if there was nothing to make.
    var report: PackReport? { draft?.report ?? nothing }

    /// Makes the missing packs of the release.
    /// - Returns: whether there is anything to do.
    @discardableResult
    func prepare(in whole: OriginState) throws(StoreError) -> Bool {
        let state = whole.counted(work.channel, options.signing)
        let need = try need(in: state)
        guard !need.isMet else {
            nothing = PackReport(nothingFor: need)
            return false
        }
        do throws(StoreError) {
            prepared = try prepare(need, in: state)
            return true
        } catch {
            // Report the first error; the next publisher drops it, too.
            if error.code == .outOfSpace { try? dropUnused(in: whole) }
            throw error
        }
    }

    /// Drops frames and bases kept for packing, whose space others need.
    private func dropUnused(in state: OriginState) throws(StoreError) {
        let directory = try home.makeDirectory()
        try PackingPlace.dropUnused(in: directory.raw, offered: state.deliveries, home.fileSystem)
    }

    private func prepare(
        _ need: PackNeed, in state: OriginState
    ) throws(StoreError) -> PreparedPacks {
        let contents = try contents(of: need, in: state)
        let planned = PackReport(planned: target, need, from: contents)
        let place = try home.openPlace()
        let fetches = options.packs.fetchesBases || storage.isOnDisk
        let wanted = fetches ? try objects(of: need.lacking, in: state) : []
        try checkSpace(planned.spaceNeeded.addingClamped(wanted.byteCount), in: place)
        let objects = try home.fetch(
            wanted, into: place, saying: "of older versions, to make packs from them")
        fetched = (wanted.count, wanted.byteCount)
        let source = PackSource(
            versions.store, origin: objects, home.fileSystem,
            missingReason: fetches
                ? "neither in the store nor in the origin"
                : "not in the store; --fetch-bases fetches it")
        return try pack(need, contents, planned, in: place, source)
    }

    /// - Throws: `.outOfSpace` unless there is about enough space.
    private func checkSpace(_ needed: Int64, in place: PackingPlace) throws(StoreError) {
        let available = try home.fileSystem.freeSpace(place.publishing.raw).available
        guard available < needed else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(home.disk.path) to make packs: about \(sizeText(needed)) are needed, "
                + "\(sizeText(available)) are free; \(home.disk.remedy)")
    }

    /// - Throws: `.interrupted`; `.missingObject`, `.damagedObject`; what reading and writing throws.
    private func pack(
        _ need: PackNeed, _ contents: [PackedContent], _ planned: PackReport,
        in place: PackingPlace, _ source: PackSource
    ) throws(StoreError) -> PreparedPacks {
        let progress = options.watching(
            .packing, total: planned.packs.reduce(0) { $0.addingClamped($1.contentByteCount) })
        progress.tick()
        let packer = Packer(
            place: place, source: source, options: options.packs, progress: progress,
            plainBases: need.plainBases(options.packs.packsForOld), notice: options.notice)
        do throws(StoreError) {
            let result = try packer.pack(
                target, manifest: work.manifest.serialized(), whole: need.needsWhole,
                from: contents)
            return PreparedPacks(
                result: result, need: need, place: place, frameCounts: progress.frameCounts)
        } catch {
            guard error.code == .outOfSpace, !error.isFileSizeLimited else { throw error }
            let available = try place.fileSystem.freeSpace(place.publishing.raw).available
            throw StoreError(
                .outOfSpace,
                "\(error.advising("").message); packs need about \(sizeText(planned.spaceNeeded)), "
                    + "\(sizeText(available)) are free; \(home.disk.remedy)", cause: error.cause)
        }
    }

    /// Does the same but continues without packs on a full disk or an unwritable store.
    func prepareIfSpace(in state: OriginState) throws(StoreError) {
        _ = try options.withSpace(
            for: version, in: origin, work.channel, besides: [.readOnly, .permission, .io]
        ) { () throws(StoreError) in try prepare(in: state) }
    }

    private var origin: String { storage.argument }

    /// Continues without packs, and drops what is kept to make them, if the rest of the release needs their space.
    /// - Returns: whether there is more space than before.
    func giveWay(to error: StoreError) -> Bool {
        guard error.code == .outOfSpace else { return false }
        let hasPacks = prepared != nil
        (prepared, draft) = (nil, nil)
        guard let place = storage.work else { return false }
        if hasPacks { options.sayNoPacks(of: version, in: origin, work.channel, error) }
        do throws(StoreError) {
            let directory = try place.open()
            return try PackingPlace.dropCaches(in: directory.raw, place.fileSystem) || hasPacks
        } catch {
            return hasPacks
        }
    }

    // MARK: The contents from which packs lead

    /// What devices may have: the channel's latest contents, newest first, then other channels', then the store's.
    func bases(in state: OriginState) throws(StoreError) -> [PackBase] {
        var bases: [PackBase] = []
        var seen: Set<ObjectID> = [version.content]
        for known in state.releases(first: work.channel).compactMap(\.version)
        where bases.count < options.packs.contentCount && seen.insert(known.content).inserted {
            bases.append(
                PackBase(
                    version: known.name.description, content: known.content,
                    manifest: known.manifest))
        }
        for name in options.packs.baseVersions {
            let content = try versions.registeredManifest(of: name).contentAddress()
            guard seen.insert(content).inserted else { continue }
            bases.append(PackBase(version: name, content: content, manifest: nil))
        }
        return bases
    }

    /// The contents from which packs are to be made, except those whose manifest is lost.
    private func contents(
        of need: PackNeed, in state: OriginState
    ) throws(StoreError) -> [PackedContent] {
        var contents: [PackedContent] = []
        for base in need.lacking {
            guard let manifest = try manifest(of: base, in: state) else { continue }
            contents.append(PackedContent(version: base.version, content: base.content, manifest))
        }
        return contents
    }

    private func manifest(
        of base: PackBase, in state: OriginState
    ) throws(StoreError) -> Manifest? {
        guard let address = base.manifest else {
            return try versions.registeredManifest(of: base.version)
        }
        var problem = "its manifest is not in the origin"
        do throws(StoreError) {
            if let found = try state.files(of: address, storage, versions)?.manifest() {
                return found
            }
        } catch {
            guard ReleaseFiles.isHarmless(error) else { throw error }
            problem = error.message
        }
        let own = try versions.manifest(address, of: base.content)
        options.notice(
            own == nil
                ? "no pack is made from version \(base.version): \(problem)"
                : "the pack from version \(base.version) is made with the store's manifest: \(problem)"
        )
        return own
    }

    /// The origin's objects of contents that the store does not have, sorted.
    private func objects(
        of bases: [PackBase], in state: OriginState
    ) throws(StoreError) -> [SizedKey] {
        var wanted: [ObjectID: SizedKey] = [:]
        for base in bases {
            guard let manifest = base.manifest,
                let files = state.files(of: manifest, storage, versions)
            else { continue }
            let found = try allowing(ReleaseFiles.isHarmless, try files.objects())
            for object in found ?? [] where object.byteCount <= options.packs.prefixedByteCountMax {
                guard try versions.store.objects.open(object.key.address) == nil else { continue }
                wanted[object.key.address] = object
            }
        }
        return wanted.values.sorted { $0.key.address < $1.key.address }
    }

    // MARK: What there is

    func checkKept(in state: OriginState) throws(StoreError) {
        let state = state.counted(work.channel, options.signing)
        guard let delivery = state.delivery(of: version.manifest, in: work.channel) else { return }
        let remedy =
            "castree pack \(version.name) \(printable(storage.place)) --channel \(work.channel) --verify replaces what is wrong"
        guard let there = try read(delivery) else {
            return options.notice(
                "the delivery of version \(version.name) is missing or damaged; \(remedy)")
        }
        let (wrong, all) = (there.damaged.count, there.damaged.count + there.packs.count)
        guard wrong > 0 else { return }
        options.notice(
            "\(wrong) of \(all) packs of version \(version.name) \(wrong == 1 ? "is" : "are") missing or damaged; "
                + remedy)
    }

    private func need(in state: OriginState) throws(StoreError) -> PackNeed {
        let bases = try bases(in: state)
        let noted = try noted(bases, state)
        let need = PackNeed(bases, noted == nil ? try offered(in: state)?.packs : noted)
        for base in need.refused { options.notice(Packer.uselessNotice(base.version)) }
        return need
    }

    /// The store's record of the release's delivery, if nothing is missing, which saves reading the delivery.
    private func noted(
        _ bases: [PackBase], _ state: OriginState
    ) throws(StoreError) -> OfferedPacks? {
        // If a base was asked for by name, the report says whether it gave a pack.
        guard !options.looks(in: storage), options.packs.baseVersions.isEmpty,
            let delivery = state.delivery(of: version.manifest, in: work.channel),
            let made = try home.record()?.works[delivery.address],
            bases.allSatisfy({ made.bases.contains($0.content) })
        else { return nil }
        return OfferedPacks(work: made)
    }

    /// The release's delivery, and what exists of it; `nil` if there is none, or it cannot be read.
    func offered(
        in state: OriginState
    ) throws(StoreError) -> (delivery: PublishedDelivery, packs: OfferedPacks)? {
        guard let delivery = state.delivery(of: version.manifest, in: work.channel) else {
            return nil
        }
        if known[delivery.address] == nil { known[delivery.address] = try read(delivery) }
        return (known[delivery.address] ?? nil).map { (delivery, $0) }
    }

    private func read(_ delivery: PublishedDelivery) throws(StoreError) -> OfferedPacks? {
        guard let document = try storage.delivery(delivery, of: version) else { return nil }
        var offered = OfferedPacks(packs: document.packs)
        if options.looks(in: storage) {
            let packs = document.packs.map {
                SizedKey(.pack, $0.address, in: delivery.epoch, $0.byteCount)
            }
            let missing = try storage.missing(of: packs, options)
            offered.damaged = document.packs.filter { missing.contains($0.address) }
            offered.packs.removeAll { missing.contains($0.address) }
        }
        offered.work = try home.record()?.works[delivery.address]
        return offered
    }
}

extension ObjectStorage {
    /// The document of a delivery; `nil` if it is missing or damaged.
    func delivery(
        _ delivery: PublishedDelivery, of version: PublishedVersion
    ) throws(StoreError) -> Delivery? {
        let key = OriginKey(.delivery, delivery.address, in: delivery.epoch)
        return try allowing(
            ReleaseFiles.isHarmless,
            try contents(key.path, limit: Delivery.byteCountMax).map {
                (bytes) throws(StoreError) in try Delivery(bytes, named: delivery, of: version)
            })
    }
}

extension PublisherOptions {
    /// Continues without packs if there is no space for them, since they only save work.
    func withSpace<R>(
        for version: PublishedVersion, in origin: String, _ channel: ChannelName,
        besides others: [StoreError.Code] = [], _ body: () throws(StoreError) -> R?
    ) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code == .outOfSpace || others.contains(error.code) else { throw error }
            sayNoPacks(of: version, in: origin, channel, error)
            return nil
        }
    }

    /// Reports why a release is offered without packs, and how it gets them later.
    func sayNoPacks(
        of version: PublishedVersion, in origin: String, _ channel: ChannelName, _ error: StoreError
    ) {
        let (reason, remedy) =
            switch error.code {
            case .outOfSpace where !error.isFileSizeLimited:
                (error.advising("").message, "free space, then")
            case .readOnly, .permission:
                (error.message, "make it writable, then")
            default: (error.message, "then")
            }
        notice(
            "no packs are made of version \(version.name): \(reason); \(remedy) run "
                + "castree pack \(version.name) \(origin) --channel \(channel)")
    }
}
