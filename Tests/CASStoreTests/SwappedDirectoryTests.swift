import StorageTestSupport

@testable import CASStore

// DESIGN.md, "Root and the owner".
@Suite("A directory of root's whose neighbour swaps it for a link") struct SwappedDirectoryTests {
    private static let user: UInt32 = 5001
    private static let reason = geteuid() == 0 ? nil : "needs root"

    private let directory = TemporaryDirectory()
    private var path: String { directory.appending("theirs/store") }
    private var closed: String { directory.appending("closed") }

    init() {
        mkdir(closed, 0o700)
        mkdir(directory.appending("theirs"), 0o755)
        chown(directory.appending("theirs"), Self.user, Self.user)
    }

    @Test(.disabled(if: reason != nil, "\(reason ?? "")"))
    func `becomes no store behind the link, if that is while it is made`() throws {
        let disk = FaultyFileSystem()
        // Each directory is made, and the neighbour swaps it at once.
        disk.onEach { [path, closed] timing, operation in
            guard (timing, operation.verb) == (.after, .makeDirectory) else { return }
            if path.hasSuffix("/" + operation.name) { swap(path, for: closed) }
        }
        expect(
            code {
                _ = try VersionStore.create(at: path, options: StoreOptions(), fileSystem: disk)
            }, equals: .permission)
        expect(Damage.names(closed), equals: [])
    }

    @Test(.disabled(if: reason != nil, "\(reason ?? "")"))
    func `stays the store that is open, with its index`() throws {
        _ = try VersionStore.create(at: path)
        let store = try VersionStore.open(path).store
        swap(path, for: closed)
        let lease = try store.makeLease()
        let address = try store.put(bytes("content"), protectedBy: lease)
        _ = try store.collect()
        try expect(store.contains(address))
        expect(Damage.names(closed), equals: [])
    }
}

/// Moves a directory away, and puts a link of the neighbour's in its place.
private func swap(_ path: String, for target: String) {
    expect(rename(path, path + ".moved"), equals: 0)
    expect(symlink(target, path), equals: 0)
    expect(lchown(path, 5001, 5001), equals: 0)
}
