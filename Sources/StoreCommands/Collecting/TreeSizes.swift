internal import CASStore
internal import VersionTree

/// The disk usage of the trees and manifests of versions that would be retired.
struct TreeSizes {
    private var sizes: [String: Int64] = [:]
    /// The total for all of them, which may share executable copies.
    private(set) var sum: Int64 = 0

    init(of names: [String], in versions: VersionStore) throws(StoreError) {
        for name in names { sizes[name] = try versions.treesOnDisk(retiring: [name]) }
        sum = names.count == 1 ? sizes.values.first ?? 0 : try versions.treesOnDisk(retiring: names)
    }

    subscript(name: String) -> Int64 { sizes[name] ?? 0 }

    /// The total for those that were retired.
    func sum(of names: [String]) -> Int64 {
        names.count == sizes.count ? sum : names.reduce(0) { $0 + self[$1] }
    }
}
