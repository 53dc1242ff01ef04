import CASStore
import VersionTree

// If an object cannot be opened, the trees may have its bytes: those of the served versions, and files at the same
// path in the others.
extension SiteCache {
    /// How many files of one version are tried: usually they are all one file.
    private static let perVersionMax = 3

    /// Files that should have the bytes of `object`, the likeliest first.
    func copies(of object: ObjectID) -> [ObjectCopy] {
        var places: [String] = []
        var paths: [String] = []
        for site in sites {
            for file in site.files(with: object, limit: Self.perVersionMax) {
                places.append("\(file.version)/\(file.path)")
                if !paths.contains(file.path) { paths.append(file.path) }
            }
        }
        // In other versions the path may have other bytes; the size and the hash tell.
        for version in trees where places.count < ObjectCopy.triedMax {
            for path in paths where !places.contains("\(version)/\(path)") {
                places.append("\(version)/\(path)")
            }
        }
        let versions = versions
        return places.map { place in
            ObjectCopy(name: StoreLayout.treePath(place)) { () throws(StoreError) in
                try ObjectReader(
                    object, at: place, below: versions.directories.versions.raw,
                    versions.fileSystem)
            }
        }
    }

    /// Called once for each object for which a copy is served, with the reason: the object's own error.
    func replaced(_ failure: StoreError, by copy: String) {
        notice(
            "\(failure.message); until then \(copy), which has its bytes, is served in its place")
    }

    private var trees: [String] {
        let versions = versions
        // Hidden ones are being built or removed. Without the list, the trees of the served versions remain.
        let names = try? versions.fileSystem.names(in: versions.directories.versions.raw) {
            name, _ in !name.hasPrefix(".")
        }
        return (names ?? []).prefix(Self.treesMax).sorted()
    }

    private static var treesMax: Int { 256 }
}
