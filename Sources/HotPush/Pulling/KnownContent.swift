import CASStore
import VersionTree

/// What the versions of a store say about content that a release names by label only.
///
/// Built once for a pull, from the manifests: labels that earlier pulls have proved, and sizes, by
/// which content that was added without labels is found and proved now.
struct KnownContent {
    private let versions: VersionStore
    private var proved: [ContentCheck: ObjectID] = [:]
    private var bySize: [Int64: [ObjectID]] = [:]
    private var digests: [ObjectID: ContentDigests] = [:]
    /// Objects of a size are compared with a label only if they are this few: more would cost more
    /// than to fetch one.
    private static let candidatesMax = 64

    /// - Parameter sizes: those that the release promises for files without address.
    init(_ versions: VersionStore, sizes: Set<Int64>) throws(StoreError) {
        self.versions = versions
        for summary in try versions.versions() {
            for entry in try versions.manifest(of: summary.version).entries {
                for label in entry.labels where try versions.store.contains(entry.address) {
                    proved[.digest(label)] = entry.address
                }
                if let label = MeteorLabel.kept(in: entry) {
                    proved[.meteorLabel(label)] = entry.address
                }
                guard sizes.contains(entry.byteCount) else { continue }
                bySize[entry.byteCount, default: []].append(entry.address)
            }
        }
        for (size, addresses) in bySize { bySize[size] = Array(Set(addresses)).sorted() }
    }

    /// The address of content that fulfils all checks of a file, if a version has it.
    mutating func address(of file: ReleaseFile) throws(StoreError) -> ObjectID? {
        for check in file.checks {
            guard let address = proved[check], try versions.store.contains(address) else { continue }
            return address
        }
        guard let byteCount = file.byteCount, let candidates = bySize[byteCount],
            candidates.count <= Self.candidatesMax
        else { return nil }
        for candidate in candidates {
            guard let digests = try digests(of: candidate) else { continue }
            if file.checks.contains(where: { $0.verdict(on: digests) == .proved }),
                !file.checks.contains(where: { $0.verdict(on: digests) == .refuted })
            {
                return candidate
            }
        }
        return nil
    }

    private mutating func digests(of address: ObjectID) throws(StoreError) -> ContentDigests? {
        if let known = digests[address] { return known }
        guard let reader = try versions.store.open(address) else { return nil }
        var digester = try ContentDigester()
        try reader.forEachPiece { digester.update($0) }
        let found = digester.finish()
        digests[address] = found
        return found
    }
}
