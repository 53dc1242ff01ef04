/// What a disk holds, twice: as programs see it, and as a power cut would leave it.
///
/// POSIX promises little, and the model promises no more. fsync(2) of a file makes its bytes and mode
/// durable, not its name. fsync of a directory makes its entries durable, not what they lead to.
/// syncfs(2) makes everything durable. Of everything else a cut leaves any part: of the names each
/// change or not (those of one name in their order), of the bytes none, all or torn ones.
struct Device: Sendable {
    /// A file, directory or symbolic link; hard links are several names of one node.
    struct Node: Sendable {
        enum Kind: Sendable, Hashable { case file, directory, link(String) }
        var kind: Kind
        var mode: UInt32
        var content = FileBytes()
        var entries: [String: Int] = [:]
        /// When the last entry changed, as its file system said (a directory's ctime).
        var changedAt: Int64 = 0
        /// What is durable of it; nothing of a file that was never synced.
        var savedMode: UInt32
        var savedContent = FileBytes()
        var savedEntries: [String: Int] = [:]
        var savedChangedAt: Int64 = 0
        /// A sync of it failed: the kernel has dropped the pages and calls them clean.
        var isDropped = false

        init(_ kind: Kind, mode: UInt32) {
            self.kind = kind
            self.mode = mode
            savedMode = mode
        }

        var isUnsaved: Bool { kind == .file && (content != savedContent || mode != savedMode) }
    }

    /// One change of names: all of it happens or nothing.
    struct Renaming: Sendable {
        /// A name in a directory, and what it leads to afterwards; `nil`: nothing.
        struct Entry: Sendable {
            var directory: Int
            var name: String
            var node: Int?
        }
        var entries: [Entry]
        var changedAt: [Int: Int64]
    }

    /// Something that a program did.
    enum Change: Sendable {
        case make(Node.Kind, mode: UInt32, node: Int, Renaming)
        case names(Renaming)
        case write(node: Int, offset: Int, [UInt8])
        case resize(node: Int, Int)
        case setMode(node: Int, UInt32)
        case sync(node: Int)
        case failedSync(node: Int)
        case syncAll
        /// SQLite's files stand beside the nodes: this changes none.
        case syncIndex
    }

    /// By number; 0 is the root, which is durable.
    private(set) var nodes: [Int: Node] = [0: Node(.directory, mode: 0o755)]
    /// Changes of names that no sync has reached, in order.
    private(set) var pending: [Renaming] = []

    var unsaved: [Int] { nodes.keys.filter { nodes[$0]?.isUnsaved == true }.sorted() }

    subscript(node: Int) -> Node {
        guard let found = nodes[node] else { preconditionFailure("no node \(node)") }
        return found
    }

    func find(_ path: some Sequence<String>, from directory: Int) -> Int? {
        var current = directory
        for name in path {
            if name == "." { continue }
            guard let next = nodes[current]?.entries[name] else { return nil }
            current = next
        }
        return current
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .make(let kind, let mode, let number, let names):
            var node = Node(kind, mode: mode)
            node.isDropped = false
            nodes[number] = node
            rename(names)
        case .names(let names): rename(names)
        case .write(let node, let offset, let bytes):
            nodes[node]?.content.write(bytes, at: offset)
            nodes[node]?.isDropped = false
        case .resize(let node, let count): nodes[node]?.content.resize(to: count)
        case .setMode(let node, let mode):
            nodes[node]?.mode = mode
            // A directory's mode is not what this is about.
            if nodes[node]?.kind == .directory { nodes[node]?.savedMode = mode }
        case .sync(let node): save(node)
        case .failedSync(let node): nodes[node]?.isDropped = true
        case .syncAll:
            for node in nodes.keys { saveBytes(node) }
            for names in pending { commit(names) }
            pending = []
        case .syncIndex: break
        }
    }

    /// Makes all that is there durable: where a recording begins.
    mutating func saveEverything() { apply(.syncAll) }

    private mutating func rename(_ names: Renaming) {
        for entry in names.entries { nodes[entry.directory]?.entries[entry.name] = entry.node }
        for (directory, time) in names.changedAt { nodes[directory]?.changedAt = time }
        pending.append(names)
    }

    private mutating func commit(_ names: Renaming) {
        for entry in names.entries {
            nodes[entry.directory]?.savedEntries[entry.name] = entry.node
        }
        for (directory, time) in names.changedAt { nodes[directory]?.savedChangedAt = time }
    }

    private mutating func saveBytes(_ number: Int) {
        guard let node = nodes[number], !node.isDropped else { return }
        nodes[number]?.savedContent = node.content
        nodes[number]?.savedMode = node.mode
    }

    private mutating func save(_ number: Int) {
        saveBytes(number)
        let chosen = pending.indices.filter { index in
            pending[index].entries.contains { $0.directory == number }
        }
        let reached = closure(of: Set(chosen))
        for index in reached.sorted() { commit(pending[index]) }
        pending = pending.indices.filter { !reached.contains($0) }.map { pending[$0] }
    }

    /// The chosen changes and those before them of the same names.
    private func closure(of chosen: Set<Int>) -> Set<Int> {
        var reached = chosen
        var names = Set<[String]>()
        for index in pending.indices.reversed() {
            let own = pending[index].entries.map { ["\($0.directory)", $0.name] }
            if reached.contains(index) || own.contains(where: names.contains) {
                reached.insert(index)
                names.formUnion(own)
            }
        }
        return reached
    }

    /// The names that a cut leaves, by directory, if these of the pending changes reached the disk.
    func entries(keeping chosen: Set<Int>) -> Device {
        var left = self
        for index in closure(of: chosen).sorted() { left.commit(pending[index]) }
        return left
    }
}

/// The bytes of a file; those behind the last one written are zero.
struct FileBytes: Sendable, Hashable {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0

    init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
        count = bytes.count
    }

    mutating func write(_ new: [UInt8], at offset: Int) {
        if bytes.count < offset + new.count {
            bytes.append(contentsOf: repeatElement(0, count: offset + new.count - bytes.count))
        }
        bytes.replaceSubrange(offset..<offset + new.count, with: new)
        count = max(count, bytes.count)
    }

    mutating func resize(to count: Int) {
        if bytes.count > count { bytes.removeLast(bytes.count - count) }
        self.count = count
    }

    /// Some sectors of these bytes, and for the rest what was there before, or zeros.
    func torn<R: RandomNumberGenerator>(over old: FileBytes, _ random: inout R) -> FileBytes {
        var result = FileBytes()
        var offset = 0
        while offset < bytes.count {
            let end = min(offset + 512, bytes.count)
            if Bool.random(using: &random) {
                result.write(Array(bytes[offset..<end]), at: offset)
            } else if offset < old.bytes.count {
                result.write(Array(old.bytes[offset..<min(end, old.bytes.count)]), at: offset)
            }
            offset = end
        }
        // A small file is one sector: let half of it be lost, as file systems that pack them do.
        if bytes.count <= 512, result.bytes == bytes, !bytes.isEmpty {
            result.resize(to: bytes.count / 2)
        }
        result.resize(to: Bool.random(using: &random) ? count : max(result.count, old.count))
        return result
    }
}
