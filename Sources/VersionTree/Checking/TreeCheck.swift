import CASStore
import Synchronization

/// Compares a version's tree with its manifest: what is listed is there, nothing else is.
///
/// A file that is the object's own inode needs no reading: the objects are checked for themselves.
struct TreeCheck: Sendable {
    let store: Store
    let manifest: Manifest

    private var fileSystem: any FileSystem { store.fileSystem }
    private var version: String { manifest.version.description }

    func run() throws(StoreError) -> [Finding] {
        let versions = store.directories.versions.raw
        guard let root = try fileSystem.openIfPresent(versions, version, .directory) else {
            return []
        }
        let plan = TreePlan(manifest)
        let findings = Mutex<[Finding]>([])
        let children = Self.children(plan)
        let check = self
        let raw = root.raw
        try Parallel.run(workers: Parallel.workerCount, count: plan.directories.count, chunk: 1) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                for index in chunk {
                    try check.store.checkInterruption()
                    let found = try check.compare(
                        plan, index, children[index], raw, &checker)
                    if !found.isEmpty { findings.withLock { $0 += found } }
                }
            }
        }
        // Taken away or replaced meanwhile: what was seen is no longer anybody's tree.
        guard let now = try fileSystem.status(versions, version),
            now.isSameFile(as: try fileSystem.status(raw))
        else { return [] }
        return findings.withLock { $0 }.sorted { ($0.path ?? "") < ($1.path ?? "") }
    }

    /// The names of the directories inside each directory.
    private static func children(_ plan: TreePlan) -> [Set<String>] {
        var indices: [String: Int] = [:]
        for (index, directory) in plan.directories.enumerated() { indices[directory.path] = index }
        var result = [Set<String>](repeating: [], count: plan.directories.count)
        for directory in plan.directories.dropFirst() {
            let name = directory.path.split(separator: "/").last.map(String.init) ?? ""
            let parent = String(directory.path.dropLast(name.count).dropLast())
            if let index = indices[parent] { result[index].insert(name) }
        }
        return result
    }

    private func compare(
        _ plan: TreePlan, _ index: Int, _ children: Set<String>, _ root: Int32,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> [Finding] {
        let directory = plan.directories[index]
        let path = directory.path
        let prefix = path.isEmpty ? "" : path + "/"
        guard let opened = try openDirectory(root, path) else {
            return [finding(.missingInTree, path, "the directory is not there")]
        }
        var findings: [Finding] = []
        if try fileSystem.status(opened.raw).mode != 0o555 {
            findings.append(finding(.wrongModeInTree, path, "the directory is not read-only"))
        }
        var expected: [String: Int] = [:]
        for position in directory.files {
            let entry = Int(plan.order[position])
            expected[String(manifest.path(entry).dropFirst(prefix.count))] = entry
        }
        try fileSystem.list(opened.raw) { (entry, _) throws(StoreError) in
            let name = String(cString: entry)
            if let position = expected.removeValue(forKey: name) {
                if let found = try compareFile(position, opened.raw, entry, &checker) {
                    findings.append(found)
                }
            } else if !children.contains(name) {
                findings.append(
                    finding(.strayInTree, prefix + name, "the manifest does not list it"))
            }
            return true
        }
        for name in expected.keys {
            findings.append(finding(.missingInTree, prefix + name, "the file is not there"))
        }
        return findings
    }

    private func openDirectory(
        _ root: Int32, _ path: String
    ) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openIfPresent(root, path.isEmpty ? "." : path, .directory)
        } catch {
            guard error.isNotDirectory else { throw error }
            return nil
        }
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
            status.mode == mode
            ? nil : finding(.wrongModeInTree, "the file has a wrong mode")
        if record.byteCount == 0 { return wrongMode }
        let object = try store.objects.status(
            record.address, executable: record.isExecutable)
        if let object, object.isSameFile(as: status) {
            // Its object has the same mode, and the object's finding says it all.
            return nil
        }
        // A copy: a link could not be had when the tree was built.
        guard let file = try fileSystem.openIfPresent(directory, name, .reading) else {
            return nil
        }
        if try checker.hash(file.raw, fileSystem).address != record.address {
            return finding(.wrongInTree, "the file shows other bytes than the manifest says")
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
