import CASStore
import HotPush
import Storage
import VersionTree

/// Brings what other systems' clients need of a release into the origin: its facts and their deflated copies.
///
/// Rule U applies as for objects: each lost race decides anew which copies are used and made. Belongs to one thread.
final class FactsUpload {
    private let version: PublishedVersion
    private let channel: ChannelName
    private let objects: [Reference]
    private let making: DeflatedCopyMaking
    private let watch: UploadWatch
    private var source: ReleaseSource { making.source }
    private var seen: SeenFiles { source.seen }
    private var options: PublisherOptions { making.options }
    private var isLooking: Bool { options.looks(in: seen.storage) }
    private var listed: Set<Int64> = []
    /// The facts placed, and the deflated copies sent for them; `nil` if none were.
    private(set) var placed: PlannedFacts?
    private var sent = FileFigures()

    /// - Throws: `.tooLarge` for a version with too many files.
    init(
        _ manifest: Manifest, _ version: PublishedVersion, for channel: ChannelName,
        _ making: DeflatedCopyMaking, _ watch: UploadWatch
    ) throws(StoreError) {
        objects = Array(manifest.references)
        guard objects.count <= ContentFacts.objectCountMax else {
            throw StoreError(
                .tooLarge,
                "version \(manifest.version) has \(objects.count) different files; the clients of other systems are told of at "
                    + "most \(ContentFacts.objectCountMax)")
        }
        self.version = version
        self.channel = channel
        self.making = making
        self.watch = watch
    }

    struct Plan {
        let facts: ContentFacts
        let address: ObjectID
        /// What the release has already, if it is complete; `nil` if something is to be sent.
        var existing: PublishedFacts?
        var lacking: [Reference] = []
        /// In the order of the deflated copies.
        var epochs: [Int64] = []

        init(_ facts: ContentFacts, existing: PublishedFacts? = nil) throws(StoreError) {
            self.facts = facts
            self.existing = existing
            address =
                if let existing { existing.address } else {
                    try ObjectID(of: facts.serialized())
                }
        }
    }

    /// Decides what to send for a commit upon a state; sends nothing.
    /// - Parameter existing: the origin's epochs of objects that the store may not have.
    func plan(
        in state: OriginState, existing: [ObjectID: Int64] = [:]
    ) throws(StoreError) -> Plan {
        if let plan = try self.existing(in: state) { return plan }
        let known = try known(in: state)
        let others = objects.filter { known.objects[$0.address] == nil }
        try making.make(others, existing: existing)
        var plan = try Plan(
            ContentFacts(
                Array(known.objects.values) + others.compactMap { making.made[$0.address] }))
        let epoch = state.entry.epoch
        let deflatedCopies = plan.facts.deflatedCopies
        let unknown = deflatedCopies.filter {
            known.epochs[$0.address] == nil && !known.missing.contains($0.address)
        }
        try seen.look(for: unknown, .deflatedCopy, upon: epoch, besides: &listed)
        let made = Set(others.compactMap { making.made[$0.address]?.deflatedCopy?.address })
        for deflatedCopy in deflatedCopies {
            let existing =
                made.contains(deflatedCopy.address) ? nil : known.epochs[deflatedCopy.address]
            let place = existing ?? seen.epoch(of: .deflatedCopy, deflatedCopy.address, upon: epoch)
            plan.epochs.append(place ?? epoch)
            if place == nil { plan.lacking.append(deflatedCopy) }
        }
        return plan
    }

    /// Brings in what is missing, for a commit upon a state.
    /// - Parameter state: replaced by the newest one if the upload took so long that its files are useless.
    func place(
        in state: inout OriginState, existing: [ObjectID: Int64] = [:]
    ) throws(StoreError) -> PublishedFacts {
        while true {
            let plan = try plan(in: state, existing: existing)
            placed = PlannedFacts(plan)
            placed?.deflatedCopies = sent
            if let existing = plan.existing { return existing }
            let epoch = state.entry.epoch
            try making.send(
                plan.lacking.map { SizedKey(.deflatedCopy, $0.address, in: epoch, $0.byteCount) })
            for deflatedCopy in plan.lacking { sent.add(deflatedCopy.byteCount) }
            placed?.deflatedCopies = sent
            if let newer = try watch.state(ahead: state) {
                state = newer
                continue
            }
            return try sendDocuments(plan, epoch)
        }
    }

    private func sendDocuments(_ plan: Plan, _ epoch: Int64) throws(StoreError) -> PublishedFacts {
        let facts = StorageBody(plan.facts.serialized(), address: plan.address)
        let published = PublishedFacts(
            address: plan.address, epoch: epoch,
            places: try seen.send(Places(plan.epochs), in: epoch))
        try seen.send(facts, OriginKey(.facts, facts.address, in: epoch))
        source.note(plan.facts, published)
        return published
    }

    /// What an offered release has of the same version.
    private func existing(in state: OriginState) throws(StoreError) -> Plan? {
        let own = state.pointers[channel].map { [$0] } ?? []
        let others = state.pointers.sorted { $0.key < $1.key }.map(\.value)
        for release in (own + others).flatMap(\.releases)
        where release.facts != nil && release.version?.manifest == version.manifest {
            guard let live = LiveRelease(release), let facts = try source.facts(of: live)
            else { continue }
            if isLooking, try !stands(live) { continue }
            return try Plan(facts, existing: release.facts)
        }
        return nil
    }

    private func stands(_ release: LiveRelease) throws(StoreError) -> Bool {
        guard let deflatedCopies = try source.deflatedCopies(of: release) else { return false }
        return try seen.storage.missing(of: deflatedCopies, options).isEmpty
    }

    /// What releases know: the facts by object, the deflated copies' epochs, and which of these are missing or wrong.
    private typealias Known = (
        objects: [ObjectID: ObjectFacts], epochs: [ObjectID: Int64], missing: Set<ObjectID>
    )

    /// - Throws: what reading throws. Damaged files count as unknown.
    private func known(in state: OriginState) throws(StoreError) -> Known {
        var known: Known = ([:], [:], [])
        for release in state.newest(first: channel, each: { $0.facts?.address })
        where known.objects.count < objects.count {
            guard let facts = try source.facts(of: release),
                let deflatedCopies = try source.deflatedCopies(of: release)
            else { continue }
            for deflatedCopy in deflatedCopies where known.epochs[deflatedCopy.key.address] == nil {
                known.epochs[deflatedCopy.key.address] = deflatedCopy.key.epoch
            }
            for object in objects where known.objects[object.address] == nil {
                guard let found = facts[object.address], found.byteCount == object.byteCount
                else { continue }
                known.objects[object.address] = found
            }
        }
        guard isLooking else { return known }
        let deflatedCopies = Set(known.objects.values.compactMap(\.deflatedCopy)).map {
            SizedKey(.deflatedCopy, $0.address, in: known.epochs[$0.address] ?? 0, $0.byteCount)
        }
        let missing = try seen.storage.missing(of: deflatedCopies, options)
        known.missing = missing
        known.objects = known.objects.filter { object in
            object.value.deflatedCopy.map { !missing.contains($0.address) } ?? true
        }
        return known
    }
}

extension PlannedFacts {
    init(_ plan: FactsUpload.Plan) {
        facts = plan.facts
        address = plan.address
        writesFile = plan.existing == nil
        for deflatedCopy in plan.lacking { deflatedCopies.add(deflatedCopy.byteCount) }
    }
}
