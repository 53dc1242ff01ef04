import CASStore
import VersionTree

// Single objects out of packs: what a repair needs where many are lost, or an origin has only packs of them left.

extension Pull {
    /// Fetches objects by ranges of the packs of releases that the store has, too.
    ///
    /// - Parameter atAnyCost: whether to take from a pack what would cost less one by one.
    /// - Returns: the addresses of those that came.
    /// - Throws: `.outOfSpace`, `.interrupted`, what the store throws. What has come is kept.
    func fetchFromPacks(
        _ lost: [Reference], of origin: String, at location: OriginLocation,
        atAnyCost isInsistent: Bool = false
    ) throws(StoreError) -> Set<ObjectID> {
        let countMin = isInsistent ? 1 : Self.worthAskingCount
        guard options.takesPacks, lost.count >= countMin else { return [] }
        let pointers: [ChannelPointer]
        do throws(StoreError) {
            pointers = try access.pointers(of: origin, countMax: Self.channelCountMax)
        } catch {
            // Whatever is wrong with its channels, it may still have objects.
            guard error.code != .interrupted else { throw error }
            return []
        }
        let intake = LostObjects(lost, try Arrivals(versions.store))
        var seen: Set<ObjectID> = []
        for offered in pointers.flatMap(\.releases) {
            guard intake.wanted.count >= countMin, let published = offered.version,
                seen.insert(published.content).inserted,
                try named(published.content, among: intake.wanted) >= countMin,
                let delivery = try delivery(of: offered, at: location),
                let pack = delivery.packs.first(where: { $0.base == nil && $0.isReadable })
            else { continue }
            let place = OriginLayout.pack(pack.address, in: offered.delivery?.epoch ?? 0)
            try unpack(pack, from: place, to: published, at: location, for: intake, isInsistent)
        }
        let arrivals = intake.arrivals
        try versions.store.uninterrupted { () throws(StoreError) in _ = try arrivals.settle() }
        return intake.arrived
    }

    /// Channels, pointer, delivery and opening are as many requests as this many objects.
    static var worthAskingCount: Int { 4 }

    /// The most channels whose releases are looked at.
    static var channelCountMax: Int { 16 }

    /// How many of the objects a version with that content, complete or not, names.
    private func named(
        _ content: ObjectID, among lost: [ObjectID: Reference]
    ) throws(StoreError) -> Int {
        for (row, _) in try versions.store.versionRows() where row.content == content {
            guard let manifest = try versions.readableManifest(of: row.name) else { continue }
            let named = (0..<manifest.count).lazy.map { manifest.address(at: $0) }
            return Set(named.filter { lost[$0] != nil }).count
        }
        return 0
    }

    private func unpack(
        _ pack: Delivery.Pack, from place: String, to version: PublishedVersion,
        at location: OriginLocation, for intake: LostObjects, _ isInsistent: Bool
    ) throws(StoreError) {
        let store = versions.store
        let transfer = PackTransfer(
            pack, at: try OriginURL(of: location).url(of: place), to: version, from: nil,
            beginning: .opening, into: intake.arrivals,
            options: PackTransferOptions(
                budget: options.budget(options.retries.afterAnswer.forPacks), limits: limits,
                isInterrupted: access.isInterrupted
            ) {}
        ) { (opening) throws(StoreError) in
            let unpacker = try FrameUnpacker(
                opening, into: intake.arrivals, of: store, for: intake)
            let wish = PackWish(opening, unpacker) { intake.wanted[$0] != nil }
            return wish.flatMap { isInsistent || $0.cost <= $0.objectsCost ? $0 : nil }
        }
        try access.run(transfer, at: location)
        if let failure = transfer.failure { throw failure }
        guard let trouble = transfer.trouble else { return }
        noteFallback(pack, trouble, nil)
        try transfer.dropParts()
    }
}

/// Lost objects on their way out of packs.
private final class LostObjects: PackIntake {
    let arrivals: Arrivals
    private(set) var wanted: [ObjectID: Reference] = [:]
    private(set) var arrived: Set<ObjectID> = []

    init(_ lost: [Reference], _ arrivals: Arrivals) {
        self.arrivals = arrivals
        for one in lost { wanted[one.address] = one }
    }

    func begin(_ object: Reference) throws(StoreError) -> Arrival? {
        guard wanted[object.address] != nil else { return nil }
        return try arrivals.begin(object.address, byteCount: object.byteCount)
    }

    func finish(
        _ object: Reference, _ arrival: consuming Arrival
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            _ = try arrival.finish()
        } catch {
            guard error.code == .mismatch else { throw error }
            return false
        }
        wanted[object.address] = nil
        arrived.insert(object.address)
        return true
    }
}
