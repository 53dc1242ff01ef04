import CASStore
import Synchronization

/// Lists the regular files below a directory, and refuses what a version cannot hold.
struct DirectoryWalk {
    let fileSystem: any FileSystem
    /// Called before every directory and every entry.
    let checkInterruption: @Sendable () throws(StoreError) -> Void
    /// The directory of the store, which the walk must not enter; nil if it does not exist yet.
    let storeRoot: FileStatus?
    let followsLinks: Bool
    /// Extended by each `.castreeignore` on the way.
    let rules: SourceRules
    let countMax: Int

    private struct Pending {
        var path: [UInt8]
        var rules: SourceRules
    }

    /// Files in the order found; the last part is still being filled.
    var parts: [SourceFiles] = []
    var count = 0
    private(set) var directories: [SourceDirectory] = []
    /// What was left out, and what was taken but probably should not be; a directory ends with a slash.
    var leftOut: [String] = []
    var unwanted: [String] = []
    var path: [UInt8] = []
    /// The directories on the way down, to detect loops of symbolic links.
    private(set) var ancestors: [FileStatus] = []

    mutating func walk(_ root: Int32) throws(StoreError) -> SourceFiles {
        try refuseInsideStore(root)
        if followsLinks {
            try enter(root, rules)
        } else {
            try walkLevels(root)
        }
        var files = SourceFiles(joining: &parts)
        files.directories = directories
        files.leftOut = leftOut.sorted()
        files.unwanted = UnwantedName.outermost(unwanted)
        return files
    }

    // MARK: Without links: level by level, on all processors

    /// How many directories of a level are worth a thread.
    private static let chunk = 4

    private mutating func walkLevels(_ root: Int32) throws(StoreError) {
        // Each thread keeps its walker from level to level so that parts fill up.
        let empty = self
        let walkers = Mutex([empty])
        var level = [Pending(path: [], rules: rules)]
        while !level.isEmpty {
            let pending = level
            let below = Mutex<[Pending]>([])
            try Parallel.run(
                workers: Parallel.workerCount, count: pending.count, chunk: Self.chunk
            ) { (work) throws(StoreError) in
                var walker = walkers.withLock { $0.popLast() } ?? empty
                var found: [Pending] = []
                while let chunk = work.nextChunk() {
                    for index in chunk { try walker.look(root, pending[index], &found) }
                }
                let (used, inner) = (walker, found)
                walkers.withLock { $0.append(used) }
                below.withLock { $0 += inner }
            }
            level = below.withLock { $0 }
        }
        parts = []
        count = 0
        for walker in walkers.withLock({ $0 }) {
            parts += walker.parts
            count += walker.count
            directories += walker.directories
            leftOut += walker.leftOut
            unwanted += walker.unwanted
        }
        guard count <= countMax else { throw tooMany() }
    }

    private mutating func look(
        _ root: Int32, _ pending: Pending, _ below: inout [Pending]
    ) throws(StoreError) {
        path = pending.path
        let length = path.count
        let depth = path.isEmpty ? 0 : path.reduce(1) { $1 == 47 ? $0 + 1 : $0 }
        guard depth < TreePath.depthMax else { throw refuse("the directory is too deep") }
        let text = path.isEmpty ? "." : String(decoding: path, as: UTF8.self)
        let directory = try fileSystem.openBeneath(root, text, .directory)
        let status = try fileSystem.status(directory.raw)
        try refuseStore(status)
        directories.append(SourceDirectory(path: path, status: status))
        var rules = pending.rules
        for name in try list(directory.raw, &rules) {
            append(name)
            try validate(name)
            below.append(Pending(path: path, rules: rules))
            path.removeLast(path.count - length)
        }
    }

    // MARK: Following links: depth first, to detect loops

    private mutating func enter(_ directory: Int32, _ rules: SourceRules) throws(StoreError) {
        let status = try fileSystem.status(directory)
        try refuseStore(status)
        if ancestors.contains(where: { $0.isSameFile(as: status) }) {
            throw refuse("symbolic links lead in a circle here")
        }
        ancestors.append(status)
        directories.append(SourceDirectory(path: path, status: status))
        defer { ancestors.removeLast() }
        if ancestors.count > TreePath.depthMax { throw refuse("the directory is too deep") }
        let length = path.count
        var rules = rules
        for name in try list(directory, &rules) {
            append(name)
            try validate(name)
            let inner = try fileSystem.open(
                directory, String(decoding: name, as: UTF8.self), .directoryFollowingLinks,
                mode: 0)
            try enter(inner.raw, rules)
            path.removeLast(path.count - length)
        }
    }

    // MARK: What is refused

    private func refuseStore(_ status: FileStatus) throws(StoreError) {
        guard let storeRoot, status.isSameFile(as: storeRoot) else {
            return
        }
        throw refuse("the directory holds the store itself; add another, or move the store")
    }

    private func refuseInsideStore(_ root: Int32) throws(StoreError) {
        guard let storeRoot else { return }
        let isInside = try fileSystem.anyAncestor(of: root) { (_, here) throws(StoreError) in
            here.isSameFile(as: storeRoot)
        }
        if isInside {
            throw refuse("the directory is inside the store; check a version out instead")
        }
    }

    func tooMany() -> StoreError {
        StoreError(
            .unsupportedFile,
            "unable to add the directory: it has more than \(countMax) files")
    }

    func refuse(_ problem: String) -> StoreError {
        let shown = path.isEmpty ? "." : String(decoding: path, as: UTF8.self)
        return StoreError(
            .unsupportedFile, "unable to add \"\(printable(shown))\": \(problem)")
    }
}
