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
    private let making: TwinMaking
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
        _ making: TwinMaking, _ watch: UploadWatch
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
        var standing: PublishedFacts?
        var lacking: [Reference] = []
        /// In the order of the deflated copies.
        var epochs: [Int64] = []

        init(_ facts: ContentFacts, standing: PublishedFacts? = nil) throws(StoreError) {
            self.facts = facts
            self.standing = standing
            address =
                if let standing { standing.address } else {
                    try ObjectID(of: facts.serialized())
                }
        }
    }

    /// Decides what to send for a commit upon a state; sends nothing.
    /// - Parameter standing: the origin's epochs of objects that the store may not have.
    func plan(
        in state: OriginState, standing: [ObjectID: Int64] = [:]
    ) throws(StoreError) -> Plan {
        if let plan = try self.standing(in: state) { return plan }
        let known = try known(in: state)
        let others = objects.filter { known.objects[$0.address] == nil }
        try making.make(others, standing: standing)
        var plan = try Plan(
            ContentFacts(
                Array(known.objects.values) + others.compactMap { making.made[$0.address] }))
        let epoch = state.entry.epoch
        let twins = plan.facts.twins
        let unknown = twins.filter {
            known.epochs[$0.address] == nil && !known.missing.contains($0.address)
        }
        try seen.look(for: unknown, .twin, upon: epoch, besides: &listed)
        let made = Set(others.compactMap { making.made[$0.address]?.twin?.address })
        for twin in twins {
            let standing = made.contains(twin.address) ? nil : known.epochs[twin.address]
            let place = standing ?? seen.epoch(of: .twin, twin.address, upon: epoch)
            plan.epochs.append(place ?? epoch)
            if place == nil { plan.lacking.append(twin) }
        }
        return plan
    }

    /// Brings in what is missing, for a commit upon a state.
    /// - Parameter state: replaced by the newest one if the upload took so long that its files are useless.
    func place(
        in state: inout OriginState, standing: [ObjectID: Int64] = [:]
    ) throws(StoreError) -> PublishedFacts {
        while true {
            let plan = try plan(in: state, standing: standing)
            placed = PlannedFacts(plan)
            placed?.twins = sent
            if let standing = plan.standing { return standing }
            let epoch = state.entry.epoch
            try making.send(
                plan.lacking.map { SizedKey(.twin, $0.address, in: epoch, $0.byteCount) })
            for twin in plan.lacking { sent.add(twin.byteCount) }
            placed?.twins = sent
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
    private func standing(in state: OriginState) throws(StoreError) -> Plan? {
        let own = state.pointers[channel].map { [$0] } ?? []
        let others = state.pointers.sorted { $0.key < $1.key }.map(\.value)
        for release in (own + others).flatMap(\.releases)
        where release.facts != nil && release.version?.manifest == version.manifest {
            guard let live = LiveRelease(release), let facts = try source.facts(of: live)
            else { continue }
            if isLooking, try !stands(live) { continue }
            return try Plan(facts, standing: release.facts)
        }
        return nil
    }

    private func stands(_ release: LiveRelease) throws(StoreError) -> Bool {
        guard let twins = try source.twins(of: release) else { return false }
        return try seen.storage.missing(of: twins, options).isEmpty
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
                let twins = try source.twins(of: release)
            else { continue }
            for twin in twins where known.epochs[twin.key.address] == nil {
                known.epochs[twin.key.address] = twin.key.epoch
            }
            for object in objects where known.objects[object.address] == nil {
                guard let found = facts[object.address], found.byteCount == object.byteCount
                else { continue }
                known.objects[object.address] = found
            }
        }
        guard isLooking else { return known }
        let twins = Set(known.objects.values.compactMap(\.twin)).map {
            SizedKey(.twin, $0.address, in: known.epochs[$0.address] ?? 0, $0.byteCount)
        }
        let missing = try seen.storage.missing(of: twins, options)
        known.missing = missing
        known.objects = known.objects.filter { object in
            object.value.twin.map { !missing.contains($0.address) } ?? true
        }
        return known
    }
}

extension PlannedFacts {
    init(_ plan: FactsUpload.Plan) {
        facts = plan.facts
        address = plan.address
        writesFile = plan.standing == nil
        for twin in plan.lacking { twins.add(twin.byteCount) }
    }
}
