import CASStore
import Storage
import VersionTree

/// Makes the packs of a release, in the store's own directory: nobody can lock a bucket.
///
/// Belongs to one thread.
final class ReleasePacking {
    let storage: any ObjectStorage
    let version: PublishedVersion
    let versions: VersionStore
    let options: PublisherOptions
    let channel: ChannelName
    private let manifest: Manifest
    /// What deliveries have, by their addresses.
    private var known: [ObjectID: OfferedDelivery.State?] = [:]
    /// What was fetched to make packs from it: how many objects, and their bytes.
    private(set) var fetched = (count: 0, byteCount: Int64(0))
    /// What is said where nothing is to be made; `nil` if nothing was refused either.
    private(set) var nothing: PackReport?
    private var home: PackingHome { PackingHome(versions, storage, options) }
    private var fileSystem: any FileSystem { home.fileSystem }

    init(
        _ manifest: Manifest, _ version: PublishedVersion, of versions: VersionStore,
        to storage: any ObjectStorage, _ channel: ChannelName, _ options: PublisherOptions
    ) {
        self.storage = storage
        self.version = version
        self.versions = versions
        self.options = options
        self.channel = channel
        self.manifest = manifest
    }

    /// What making packs would give; `nil` if there is nothing to do.
    ///
    /// Makes nothing.
    func plan(in state: OriginState) throws(StoreError) -> PackReport? {
        let need = try need(in: state)
        return need.isMet ? PackReport(nothingFor: need) : try preparation(need, state).planned
    }

    /// Makes the packs that the release lacks.
    /// - Returns: `nil` if there is nothing to do.
    func prepare(in state: OriginState) throws(StoreError) -> PreparedPacks? {
        let need = try need(in: state)
        guard !need.isMet else {
            nothing = PackReport(nothingFor: need)
            return nil
        }
        do throws(StoreError) {
            return try prepare(need, in: state)
        } catch {
            if error.code == .outOfSpace {
                // Report the first error; the next publisher drops it, too.
                try? dropUnused(in: state)
            }
            throw error
        }
    }

    /// Drops what was kept to make packs of: it takes room that others need.
    private func dropUnused(in state: OriginState) throws(StoreError) {
        let directory = try home.makeDirectory()
        try PackingPlace.dropUnused(
            in: directory.raw, offered: state.deliveries, fileSystem)
    }

    private func prepare(
        _ need: PackNeed, in state: OriginState
    ) throws(StoreError) -> PreparedPacks {
        let preparation = try preparation(need, state)
        let place = try home.openPlace()
        let fetching =
            options.packs.fetchesBases || storage.readsFreely
            ? try BaseFetching(need.lacking, in: state, storage, versions, options) : nil
        try preparation.checkSpace(
            in: place.publishing.raw, home.disk.path, home.disk.remedy,
            fetching: fetching?.byteCount ?? 0,
            fileSystem)
        var absence = "not in the store; --fetch-bases fetches it"
        var objects: OpenedDirectory?
        if let fetching {
            absence = "neither in the store nor in the origin"
            objects = try fetching.run(into: place)
            fetched = (fetching.objects.count, fetching.byteCount)
        }
        let source = PackSource(
            versions.store, origin: objects, fileSystem, absence: absence)
        return try preparation.run(in: place, source: source)
    }

    /// The same where packs may as well be left out: there is no room for them, or the store cannot be written to.
    func prepareIfRoom(in state: OriginState) throws(StoreError) -> PreparedPacks? {
        // Where it is, without the endpoint.
        let origin = String(storage.place.prefix { $0 != " " })
        return try options.withRoom(
            for: version, in: origin, channel, besides: [.readOnly, .permission, .io]
        ) { () throws(StoreError) in try prepare(in: state) }
    }

    private func preparation(
        _ need: PackNeed, _ state: OriginState
    ) throws(StoreError) -> PackPreparation {
        let contents = try PackBases.load(need.lacking, versions, options.notice) {
            (address) throws(StoreError) in
            try state.files(of: address, storage, versions)?.manifest()
        }
        return PackPreparation(manifest, version, need, from: contents, options)
    }

    // MARK: What there is

    /// Says which packs of a release that keeps them are missing or damaged, where none are made.
    func checkKept(in state: OriginState) throws(StoreError) {
        guard let delivery = state.delivery(of: version.manifest, in: channel) else { return }
        let remedy =
            "castree pack \(version.name) \(printable(storage.place)) --channel \(channel) --verify makes again what is wrong"
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

    /// The contents from which packs are wanted.
    func bases(in state: OriginState) throws(StoreError) -> PackBases {
        try PackBases(
            state.pointers[channel], others: state.releases(besides: channel), of: version,
            options.packs, versions)
    }

    private func need(in state: OriginState) throws(StoreError) -> PackNeed {
        let bases = try bases(in: state)
        let offered =
            if let noted = try noted(bases, state) { noted } else {
                try self.offered(in: state)?.state
            }
        let need = PackNeed(bases, offered)
        for base in need.refused { options.notice(Packer.uselessNotice(base.version)) }
        return need
    }

    /// What this store has noted of the release's delivery, if that tells that nothing lacks: it is not read then.
    private func noted(
        _ bases: PackBases, _ state: OriginState
    ) throws(StoreError) -> OfferedDelivery.State? {
        // Of a base that was asked for by name it is said whether it gave a pack.
        guard !options.verifiesObjects, !storage.readsFreely, options.packs.baseVersions.isEmpty,
            let delivery = state.delivery(of: version.manifest, in: channel),
            let work = try home.record()?.works[delivery.address],
            bases.contents.isSubset(of: work.bases)
        else { return nil }
        return OfferedDelivery.State(work: work)
    }

    /// The delivery that the release has, and what there is of it; `nil` if it has none, or that cannot be read.
    func offered(
        in state: OriginState
    ) throws(StoreError) -> (delivery: PublishedDelivery, state: OfferedDelivery.State)? {
        guard let delivery = state.delivery(of: version.manifest, in: channel) else { return nil }
        if known[delivery.address] == nil { known[delivery.address] = try read(delivery) }
        return (known[delivery.address] ?? nil).map { (delivery, $0) }
    }

    private func read(
        _ delivery: PublishedDelivery
    ) throws(StoreError) -> OfferedDelivery.State? {
        let document = try PackBases.harmless { () throws(StoreError) -> Delivery? in
            let key = OriginKey(.delivery, delivery.address, in: delivery.epoch)
            let request = ReadRequest(byteCountMax: Delivery.byteCountMax)
            let (outcome, bytes) = try storage.bytes(key.path, request)
            guard case .found = outcome else { return nil }
            return try Delivery(bytes, named: delivery, of: version)
        }
        guard let document else { return nil }
        var state = OfferedDelivery.State(packs: document.packs)
        if options.verifiesObjects || storage.readsFreely {
            var wanted: [OriginKey: Int64] = [:]
            for pack in document.packs {
                wanted[OriginKey(.pack, pack.address, in: delivery.epoch)] = pack.byteCount
            }
            let missing = Set(
                try StandingFiles(in: storage, options).missing(of: wanted).map(\.address))
            state.damaged = document.packs.filter { missing.contains($0.address) }
            state.packs.removeAll { missing.contains($0.address) }
        }
        state.work = try home.record()?.works[delivery.address]
        return state
    }
}
