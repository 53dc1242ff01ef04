import CASStore
import Synchronization

/// Lists the regular files below a directory, and refuses what a version cannot hold.
struct DirectoryWalk {
    /// Where to look, and what to watch for.
    struct Surroundings {
        let fileSystem: any FileSystem
        /// Called before every directory.
        let checkInterruption: @Sendable () throws(StoreError) -> Void
        /// The directory of the store, which the walk must not enter; nil if it does not exist yet.
        let storeRoot: FileStatus?
        let followsLinks: Bool
        let countMax: Int
    }

    private let surroundings: Surroundings
    /// Files in the order in which they are met; the last part is still being filled.
    private var parts: [SourceFiles] = []
    private var count = 0
    private var directories: [SourceDirectory] = []
    private var path: [UInt8] = []
    /// The directories on the way down, to detect loops of symbolic links.
    private var ancestors: [FileStatus] = []

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    private var fileSystem: any FileSystem { surroundings.fileSystem }
    private var followsLinks: Bool { surroundings.followsLinks }
    private var countMax: Int { surroundings.countMax }

    /// Walks everything below an open directory, and returns the files that it has found.
    mutating func walk(_ root: Int32) throws(StoreError) -> SourceFiles {
        try refuseInsideStore(root)
        if followsLinks {
            try enter(root)
        } else {
            try walkLevels(root)
        }
        var files = SourceFiles(joining: &parts)
        files.directories = directories
        return files
    }

    // MARK: Without links: level by level, on all processors

    /// How many directories of a level are worth a thread.
    private static let chunk = 4

    private mutating func walkLevels(_ root: Int32) throws(StoreError) {
        // A walker for each thread, kept from level to level so that its parts fill up.
        let walkers = Mutex([self])
        var level: [[UInt8]] = [[]]
        while !level.isEmpty {
            let paths = level
            let below = Mutex<[[UInt8]]>([])
            let empty = DirectoryWalk(surroundings)
            try Parallel.run(
                workers: Parallel.workerCount, count: paths.count, chunk: Self.chunk
            ) { (work) throws(StoreError) in
                var walker = walkers.withLock { $0.popLast() } ?? empty
                var found: [[UInt8]] = []
                while let chunk = work.nextChunk() {
                    for index in chunk { try walker.look(root, paths[index], &found) }
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
        }
        guard count <= countMax else { throw tooMany() }
    }

    /// Lists one directory; adds the paths of its subdirectories to `below`.
    private mutating func look(
        _ root: Int32, _ path: [UInt8], _ below: inout [[UInt8]]
    ) throws(StoreError) {
        self.path = path
        let depth = path.isEmpty ? 0 : path.reduce(1) { $1 == 47 ? $0 + 1 : $0 }
        guard depth < TreePath.depthMax else { throw refuse("the directory is too deep") }
        let text = path.isEmpty ? "." : String(decoding: path, as: UTF8.self)
        let directory = try fileSystem.openBeneath(root, text, .directory)
        let status = try fileSystem.status(directory.raw)
        try refuseStore(status)
        directories.append(SourceDirectory(path: path, status: status))
        for name in try list(directory.raw) {
            try push(name)
            below.append(self.path)
            self.path.removeLast(self.path.count - path.count)
        }
    }

    // MARK: Following links: depth first, to detect loops

    private mutating func enter(_ directory: Int32) throws(StoreError) {
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
        for name in try list(directory) {
            try push(name)
            let inner = try fileSystem.open(
                directory, String(decoding: name, as: UTF8.self), .directoryFollowingLinks,
                mode: 0)
            try enter(inner.raw)
            path.removeLast(path.count - length)
        }
    }

    // MARK: One directory

    private func refuseStore(_ status: FileStatus) throws(StoreError) {
        guard let storeRoot = surroundings.storeRoot, status.isSameFile(as: storeRoot) else {
            return
        }
        throw refuse("the directory holds the store itself; add another, or move the store")
    }

    /// Takes the files of a directory; returns the names of the directories in it.
    private mutating func list(_ directory: Int32) throws(StoreError) -> [[UInt8]] {
        try surroundings.checkInterruption()
        var names: [[UInt8]] = []
        var links: [[UInt8]] = []
        let length = path.count
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            let name = withBytes(of: entry) { Array($0) }
            if kind == .directory {
                names.append(name)
            } else if kind == .regular {
                try self.refuseOwn(name, in: directory)
                guard let status = try self.fileSystem.status(directory, entry) else {
                    return true
                }
                try self.push(name)
                try self.take(status)
                self.path.removeLast(self.path.count - length)
            } else {
                links.append(name)
            }
            return true
        }
        for name in links { try other(name, directory, &names) }
        return names
    }

    /// The files that tell a directory of castree's own, how they begin, and what it is.
    private static let marks: [(name: [UInt8], start: [UInt8], what: String)] = [
        (Array(StoreLayout.format.utf8), Array("castree ".utf8), "a store"),
        (Array("origin.json".utf8), Array(#"{"castreeOrigin":"#.utf8), "an origin"),
    ]

    // A store in a version would grow with each version; an origin ships what it offers, and its publisher's work.
    private func refuseOwn(_ name: [UInt8], in directory: Int32) throws(StoreError) {
        guard let mark = Self.marks.first(where: { $0.name == name }) else { return }
        let file = try fileSystem.open(
            directory, String(decoding: name, as: UTF8.self), .reading, mode: 0)
        let status = try fileSystem.status(file.raw)
        guard status.byteCount >= mark.start.count else { return }
        guard try fileSystem.read(file.raw, at: 0, count: mark.start.count) == mark.start else {
            return
        }
        throw refuse("it is \(mark.what) of castree's, which no version holds; move it elsewhere")
    }

    // Not a plain file or directory by its entry: a link, a device, or a file system that does not say.
    private mutating func other(
        _ name: [UInt8], _ directory: Int32, _ directories: inout [[UInt8]]
    ) throws(StoreError) {
        let length = path.count
        // Refuses a name that is not UTF-8 before anything looks up its repaired spelling.
        try push(name)
        defer { path.removeLast(path.count - length) }
        let text = String(decoding: name, as: UTF8.self)
        guard let status = try fileSystem.status(directory, text) else { return }
        switch status.kind {
        case .directory: directories.append(name)
        case .symbolicLink where followsLinks:
            let file = try openTarget(directory, text)
            let target = try fileSystem.status(file.raw)
            if target.kind == .directory { directories.append(name) } else { try take(target) }
        case .symbolicLink:
            throw refuse(
                "it is a symbolic link; versions hold regular files: "
                    + "give --follow to take what it points to, or remove it")
        default: try take(status)
        }
    }

    private func openTarget(
        _ directory: Int32, _ name: String
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(directory, name, .readingFollowingLinks, mode: 0)
        } catch {
            if error.isNotDirectory { throw refuse("symbolic links lead in a circle here") }
            if error.code == .notFound { throw refuse("it is a symbolic link to nothing") }
            if error.isUnopenable {
                throw refuse("it leads to a socket or device; versions hold regular files only")
            }
            throw error
        }
    }

    /// Takes the file at the path.
    private mutating func take(_ status: FileStatus) throws(StoreError) {
        guard status.kind == .regular else {
            throw refuse("it is a \(Self.word(status.kind)); versions hold regular files only")
        }
        guard count < countMax else { throw tooMany() }
        count += 1
        if parts.last?.isFull ?? true { parts.append(SourceFiles.part()) }
        parts[parts.count - 1].append(path, status)
    }

    private mutating func push(_ name: [UInt8]) throws(StoreError) {
        if !path.isEmpty { path.append(47) }
        path.append(contentsOf: name)
        // ASCII, which nearly all names are, needs no closer look.
        let isASCII = name.allSatisfy { $0 < 0x80 }
        guard isASCII || String(validating: path, as: UTF8.self) != nil else {
            throw refuse("its name is not UTF-8; rename it")
        }
        if let objection = path.withUnsafeBufferPointer({ TreePath.objection(to: $0) }) {
            throw StoreError(.badPath, objection)
        }
    }

    private func tooMany() -> StoreError {
        StoreError(
            .unsupportedFile,
            "unable to add the directory: it has more than \(countMax) files")
    }

    private func refuse(_ problem: String) -> StoreError {
        let shown = path.isEmpty ? "." : String(decoding: path, as: UTF8.self)
        return StoreError(
            .unsupportedFile, "unable to add \"\(printable(shown))\": \(problem)")
    }

    private func refuseInsideStore(_ root: Int32) throws(StoreError) {
        guard let storeRoot = surroundings.storeRoot else { return }
        let isInside = try fileSystem.anyAncestor(of: root) { (_, here) throws(StoreError) in
            here.isSameFile(as: storeRoot)
        }
        if isInside {
            throw refuse("the directory is inside the store; check a version out instead")
        }
    }

    private static func word(_ kind: FileStatus.Kind) -> String {
        switch kind {
        case .fifo: "named pipe"
        case .socket: "socket"
        case .device: "device"
        case .symbolicLink: "symbolic link"
        case .directory: "directory"
        default: "special file"
        }
    }
}
