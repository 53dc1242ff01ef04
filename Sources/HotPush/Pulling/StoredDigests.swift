import CASStore
import VersionTree

/// The digests of content that the store has, each computed once, for comparing labels.
struct StoredDigests {
    private let store: Store
    /// The algorithms by which the release names content.
    private let algorithms: [DigestAlgorithm]
    private let isInterrupted: () -> Bool
    private var known: [ObjectID: [Label]] = [:]

    /// - Parameter isInterrupted: called while content is read, which may take long.
    init(_ store: Store, for files: [ReleaseFile], isInterrupted: @escaping () -> Bool) {
        self.store = store
        self.isInterrupted = isInterrupted
        var wanted: Set<DigestAlgorithm> = []
        for file in files where !file.checks.isEmpty {
            wanted.formUnion(file.labels.map(\.algorithm))
            wanted.formUnion(file.wantedDigests)
        }
        algorithms = DigestAlgorithm.allCases.filter { wanted.contains($0) }
    }

    /// The digests of an object; none if it is gone, damaged or unreadable: then it is fetched.
    /// - Throws: `.interrupted`.
    mutating func of(_ address: ObjectID) throws(StoreError) -> [Label] {
        if let known = known[address] { return known }
        var found: [Label] = []
        do throws(StoreError) {
            found = try compute(address)
        } catch {
            guard [.damagedObject, .io, .permission].contains(error.code) else { throw error }
        }
        known[address] = found
        return found
    }

    private func compute(_ address: ObjectID) throws(StoreError) -> [Label] {
        guard let reader = try store.open(address) else { return [] }
        let digester = try ContentDigests(algorithms)
        try reader.forEachPiece { (piece) throws(StoreError) in
            if isInterrupted() { throw .interruptedPull }
            piece.withUnsafeBytes { digester.update($0) }
        }
        return digester.finish(address: address)
    }

    /// Refuses labels that the content of an address does not have.
    ///
    /// Fetched content is compared with them as it comes; this is for content that is already here.
    /// Otherwise the version's manifest would hold wrong labels, and lookups by them would find
    /// other content.
    /// - Throws: `.badRelease`; `.interrupted`.
    mutating func refuseContradicted(_ release: Release) throws(StoreError) {
        for file in release.files {
            guard let address = file.address, file.hasLabelsBesidesAddress else { continue }
            let digests = try of(address)
            if let label = file.labels.firstContradicted(by: digests) {
                throw StoreError(
                    .badRelease,
                    "release \(printable(release.publisherVersion)) is refused: the content of "
                        + "\(quoted(file.path.description)) at its address is here, and has another "
                        + "\(label.algorithm.rawValue) than the release says")
            }
        }
    }
}
