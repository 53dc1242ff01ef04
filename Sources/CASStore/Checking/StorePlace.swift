/// A directory of a store in which castree's names say what stands there: a file or a directory.
///
/// Objects, manifests, the link `current` and the files that are read as a whole have checks of their own.
enum StorePlace: String, CaseIterable {
    case root = "."
    case staging, versions, leases, pointers, packing

    /// The path of an entry, inside the store.
    func path(of name: String) -> String { self == .root ? name : "\(rawValue)/\(name)" }

    /// Whether it holds few files, which others than their owner need not read.
    var holdsFew: Bool { [.root, .staging, .leases].contains(self) }

    /// Whether castree gives such a name to something here.
    func isOurs(_ name: String) -> Bool {
        self == .root ? StoreLayout.topLevelNames.contains(name) : kind(of: name) != nil
    }

    /// What castree puts under a name; `nil` for names that are not castree's, or that have another check.
    func kind(of name: String) -> FileStatus.Kind? {
        switch self {
        case .root:
            if Self.directories.contains(name) { return .directory }
            return Self.memories.contains(name) ? .regular : nil
        case .staging:
            if ObjectID(String(name.prefix(64))) != nil { return .regular }
            return Store.lease(thatLeft: name, in: .staging) == nil ? nil : .directory
        case .versions:
            return name.hasPrefix(".") ? nil : .directory
        case .leases: return .regular
        case .pointers: return ObjectID(name) == nil ? nil : .regular
        case .packing: return StoreLayout.isPackingPlace(name) ? .directory : nil
        }
    }

    private static let directories =
        StoreLayout.directories + [
            StoreLayout.pointers, StoreLayout.packing,
        ]
    /// Derived, and read by those alone who can do without.
    private static let memories = [
        StoreLayout.reserve, StoreLayout.verified, StoreLayout.lastCheck, StoreLayout.stuck,
    ]
}
