import CASStore
import HotPush
import VersionTree

/// What castree's own devices are offered: the objects and packs that the manifests and deliveries list which are here.
///
/// Devices fetch these documents first. So what they ask for then can be told from what nobody offers, also in channels
/// of which no client of another system is told.
struct DeviceFiles: Sendable {
    private struct Release: Sendable, Hashable {
        let version: PublishedVersion
        let delivery: PublishedDelivery?

        /// `nil` for what was shipped with the app.
        init?(_ offered: OfferedRelease) {
            guard let version = offered.version else { return nil }
            self.version = version
            delivery = offered.delivery
        }
    }

    /// What pointers offer, each once.
    private var releases: [Release] = []
    /// The documents that were read, whether or not they could be understood.
    private var read: Set<PlacedFile.Name> = []
    private var table = PlaceTable()

    /// When so many files are known, no more documents are read: about 50 MB.
    private static let countMax = 1 << 20

    /// Where an object or a pack stands; `nil` if no document that was read lists it.
    func file(_ name: PlacedFile.Name) -> PlacedFile? { table.file(name) }

    /// Whether two of them know the same of the same releases.
    func isSame(as other: DeviceFiles) -> Bool { releases == other.releases && read == other.read }

    /// Whether both are about the same releases.
    func isOfSameReleases(as other: DeviceFiles) -> Bool { releases == other.releases }

    /// Forgets everything if pointers offer something else now.
    mutating func offer(_ pointers: [ChannelPointer]) {
        var seen: Set<Release> = []
        let offered = pointers.flatMap(\.releases).compactMap(Release.init)
            .filter { seen.insert($0).inserted }
        guard offered != releases else { return }
        self = DeviceFiles()
        releases = offered
    }

    /// Reads the documents that have come.
    /// - Parameters:
    ///   - has: whether a document is here.
    ///   - document: its bytes.
    mutating func read(
        has: (PlacedFile.Name) -> Bool,
        _ document: (PlacedFile.Name) throws(StoreError) -> [UInt8]
    ) {
        for release in releases where table.count < Self.countMax {
            do throws(StoreError) {
                try read(release, has: has, document)
            } catch {
                // What it lists stays unknown, as if it were not here.
            }
        }
    }

    private mutating func read(
        _ release: Release, has: (PlacedFile.Name) -> Bool,
        _ document: (PlacedFile.Name) throws(StoreError) -> [UInt8]
    ) throws(StoreError) {
        let version = release.version
        if let delivery = release.delivery {
            let name = PlacedFile.Name(.delivery, delivery.address)
            if !read.contains(name), has(name) {
                read.insert(name)
                let packs = try Delivery(try document(name), named: delivery, of: version)
                table.add(packs, in: delivery.epoch)
            }
        }
        let name = PlacedFile.Name(.manifest, version.manifest)
        let places = version.places.map { PlacedFile.Name(.places, $0) }
        guard !read.contains(name), has(name), places.map(has) ?? true else { return }
        read.insert(name)
        try table.add(Manifest(parsing: document(name)), of: version) {
            (address) throws(StoreError) in
            try document(PlacedFile.Name(.places, address))
        }
    }
}
