internal import CASStore
internal import VersionTree

/// What the trees and manifests of versions take on disk that would be retired.
struct TreeSizes {
    private var sizes: [String: Int64] = [:]
    /// What all of them take together: some may share executable copies.
    private(set) var sum: Int64 = 0

    init(of names: [String], in versions: VersionStore) throws(StoreError) {
        for name in names { sizes[name] = try versions.treesOnDisk(retiring: [name]) }
        sum = names.count == 1 ? sizes.values.first ?? 0 : try versions.treesOnDisk(retiring: names)
    }

    subscript(name: String) -> Int64 { sizes[name] ?? 0 }

    /// What those take that were retired.
    func sum(of names: [String]) -> Int64 {
        names.count == sizes.count ? sum : names.reduce(0) { $0 + self[$1] }
    }
}
