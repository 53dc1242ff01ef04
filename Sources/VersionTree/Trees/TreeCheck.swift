import CASStore
import Synchronization

/// Compares a version's tree with its manifest; the objects' own inodes are checked elsewhere and not read.
struct TreeCheck: Sendable {
    let store: Store
    let manifest: Manifest
    /// Objects found intact just now, on the same file system.
    let sound: SoundInodes

    /// Below what file systems allow (ext4: 65,000), because links that are gone do not count.
    private static let linkCountMax = 32_000

    private var fileSystem: any FileSystem { store.fileSystem }
    private var version: String { manifest.version.description }

    func run() throws(StoreError) -> [Finding] {
        let versions = store.directories.versions.raw
        guard let root = try fileSystem.openIfPresent(versions, version, .directory) else {
            return []
        }
        let expected = ExpectedTree(TreePlan(manifest))
        let findings = Mutex<[Finding]>([])
        let check = self
        let raw = root.raw
        let count = expected.plan.directories.count
        try Parallel.run(workers: Parallel.workerCount, count: count, chunk: 1) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                for index in chunk {
                    try check.store.checkInterruption()
                    let found = try check.compare(expected, index, raw, &checker)
                    if !found.isEmpty { findings.withLock { $0 += found } }
                }
            }
        }
        // Removed or replaced meanwhile: the tree that was examined belongs to no version now.
        guard let now = try fileSystem.status(versions, version),
            now.isSameFile(as: try fileSystem.status(raw))
        else { return [] }
        let all = findings.withLock { $0 }.sorted { ($0.path ?? "") < ($1.path ?? "") }
        let copied = all.filter { $0.kind == .copiedInTree }
        guard let first = copied.first, let address = first.object, try store.canLink(address)
        else {
            return all.filter { $0.kind != .copiedInTree }
        }
        return all.filter { $0.kind != .copiedInTree } + [
            finding(
                .copiedInTree, "",
                copied.count == 1
                    ? "\(printable(first.path ?? "")) is a copy of its object instead of a link to it"
                    : "\(copied.count) files are copies of their objects instead of links to them: was the "
                        + "store copied without its links?")
        ]
    }

    private func compare(
        _ expected: ExpectedTree, _ index: Int, _ root: Int32, _ checker: inout ObjectChecker
    ) throws(StoreError) -> [Finding] {
        let plan = expected.plan
        let path = plan.path(of: index)
        let prefix = path.isEmpty ? "" : path + "/"
        let opened = try allowing(
            { $0.isNotDirectory || $0.code == .notFound },
            try fileSystem.openDirectory(path, below: root))
        guard let opened else {
            return [finding(.missingInTree, path, "the directory is not there")]
        }
        var findings: [Finding] = []
        let status = try fileSystem.status(opened.raw)
        let place = StoreLayout.treePath("\(version)/\(path)")
        // `Store.checkStrangers` has examined the tree's root.
        if !path.isEmpty, let foreign = try store.foreignDirectory(place, status) {
            findings.append(foreign)
        }
        if status.mode != 0o555, store.keepsModes {
            findings.append(finding(.wrongModeInTree, path, "the directory is not read-only"))
        }
        let files = plan.directories[index].files
        var isThere = [Bool](repeating: false, count: files.count)
        try fileSystem.list(opened.raw, once: false) { (entry, _, inode) throws(StoreError) in
            if let file = withBytes(of: entry, { expected.file($0, in: index) }),
                !isThere[file - files.lowerBound]
            {
                isThere[file - files.lowerBound] = true
                let position = Int(plan.order[file])
                let record = manifest.records[position]
                let isSound = sound.contains(
                    record.address, executable: record.isExecutable, inode: inode)
                if isSound { return true }
                if let found = try compareFile(position, opened.raw, entry, &checker) {
                    findings.append(found)
                }
            } else if !withBytes(of: entry, { expected.hasDirectory($0, in: index) }) {
                findings.append(
                    finding(
                        .strayInTree, prefix + String(cString: entry),
                        "the manifest does not list it"))
            }
            return true
        }
        for file in files where !isThere[file - files.lowerBound] {
            let path = manifest.path(Int(plan.order[file]))
            findings.append(finding(.missingInTree, path, "the file is not there"))
        }
        return findings
    }

    private func compareFile(
        _ position: Int, _ directory: Int32, _ name: UnsafePointer<CChar>,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Finding? {
        let record = manifest.records[position]
        guard let status = try fileSystem.status(directory, name) else { return nil }
        func finding(_ kind: Finding.Kind, _ message: String) -> Finding {
            var found = self.finding(kind, manifest.path(position), message)
            found.object = record.address
            return found
        }
        guard status.kind == .regular else {
            return finding(.wrongInTree, "something that is not a regular file stands there")
        }
        guard status.byteCount == record.byteCount else {
            return finding(
                .wrongInTree,
                "the file has \(status.byteCount) bytes instead of \(record.byteCount)")
        }
        let mode: UInt32 = record.isExecutable ? 0o555 : 0o444
        let wrongMode =
            status.mode == mode || !store.keepsModes
            ? nil : finding(.wrongModeInTree, "the file has a wrong mode")
        if record.byteCount == 0 { return wrongMode }
        let object = try store.objects.status(
            record.address, executable: record.isExecutable)
        if let object, object.isSameFile(as: status) {
            // The object has the same mode, and its own finding says everything.
            return nil
        }
        // A copy: a link was impossible when the tree was built.
        guard let file = try fileSystem.openIfPresent(directory, name, .reading) else {
            return nil
        }
        if try checker.hash(file.raw, fileSystem).address != record.address {
            return finding(.wrongInTree, "the file shows other bytes than the manifest says")
        }
        // An object that has reached the limit of links (EMLINK) has copies as well.
        if wrongMode == nil, let object, object.kind == .regular, object.device == status.device,
            object.byteCount == status.byteCount, object.linkCount < Self.linkCountMax,
            status.linkCount < 2
        {
            return finding(.copiedInTree, "the file is a copy")
        }
        return wrongMode
    }

    private func finding(_ kind: Finding.Kind, _ path: String, _ problem: String) -> Finding {
        let shown = path.isEmpty ? version : "\(version)/\(printable(path))"
        return Finding(
            kind, version: version, path: path.isEmpty ? nil : path,
            "in the tree \(shown): \(problem)")
    }
}

/// The expected content of each directory of a tree, found by names, which are compared as bytes.
private struct ExpectedTree: Sendable {
    let plan: TreePlan
    // Directories grouped by their parent, and where each group begins.
    private let children: [UInt32]
    private let starts: [UInt32]

    init(_ plan: TreePlan) {
        self.plan = plan
        var starts = [UInt32](repeating: 0, count: plan.directories.count + 1)
        for directory in plan.directories.dropFirst() { starts[directory.parent + 1] += 1 }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        self.starts = starts
        var children = [UInt32](repeating: 0, count: plan.directories.count - 1)
        for (index, directory) in plan.directories.enumerated().dropFirst() {
            children[Int(starts[directory.parent])] = UInt32(index)
            starts[directory.parent] += 1
        }
        self.children = children
    }

    func file(_ name: UnsafeBufferPointer<UInt8>, in directory: Int) -> Int? {
        let skipped = plan.skipped(in: directory)
        return plan.directories[directory].files.bisected { position in
            plan.manifest.withPath(Int(plan.order[position])) { path in
                name.compare(UnsafeBufferPointer(rebasing: path[skipped...]))
            }
        }
    }

    func hasDirectory(_ name: UnsafeBufferPointer<UInt8>, in directory: Int) -> Bool {
        let group = Int(starts[directory])..<Int(starts[directory + 1])
        let found = group.bisected { position in
            plan.withName(of: Int(children[position])) { Self.compareAsDirectories(name, $0) }
        }
        return found != nil
    }

    /// Directories are sorted by whole paths, in which a slash follows the name.
    private static func compareAsDirectories(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Int {
        let shared = min(left.count, right.count)
        let order = UnsafeBufferPointer(rebasing: left[..<shared]).compare(
            UnsafeBufferPointer(rebasing: right[..<shared]))
        if order != 0 || left.count == right.count { return order }
        return left.count < right.count
            ? 47 - Int(right[shared]) : Int(left[shared]) - 47
    }
}
