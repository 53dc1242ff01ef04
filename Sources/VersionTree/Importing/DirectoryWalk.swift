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
        /// The directories on the way down to it, to detect loops of symbolic links.
        var above: [FileStatus] = []
    }

    /// Files in the order found; the last part is still being filled.
    private(set) var parts: [SourceFiles] = []
    private(set) var count = 0
    private(set) var directories: [SourceDirectory] = []
    /// What was left out, and what was taken but probably should not be; a directory ends with a slash.
    private(set) var leftOut: [String] = []
    private(set) var unwanted: [String] = []
    private(set) var path: [UInt8] = []

    /// How many directories of a level are worth a thread.
    private static let chunk = 4

    /// Level by level, on all processors.
    mutating func walk(_ root: Int32) throws(StoreError) -> SourceFiles {
        try refuseInsideStore(root)
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
        var files = SourceFiles(joining: &parts)
        files.directories = directories
        files.leftOut = leftOut.sorted()
        files.unwanted = UnwantedName.outermost(unwanted)
        return files
    }

    private mutating func look(
        _ root: Int32, _ pending: Pending, _ below: inout [Pending]
    ) throws(StoreError) {
        path = pending.path
        let length = path.count
        let depth = path.isEmpty ? 0 : path.reduce(1) { $1 == 47 ? $0 + 1 : $0 }
        guard depth < TreePath.depthMax else { throw refuse("the directory is too deep") }
        let text = path.isEmpty ? "." : String(decoding: path, as: UTF8.self)
        let directory =
            followsLinks
            ? try fileSystem.open(root, text, .directoryFollowingLinks, mode: 0)
            : try fileSystem.openBeneath(root, text, .directory)
        let status = try fileSystem.status(directory.raw)
        try refuseStore(status)
        var above = pending.above
        if followsLinks {
            if above.contains(where: { $0.isSameFile(as: status) }) {
                throw refuse("symbolic links lead in a circle here")
            }
            above.append(status)
        }
        directories.append(SourceDirectory(path: path, status: status))
        var rules = pending.rules
        for name in try list(directory.raw, &rules) {
            append(name)
            try validate(name)
            below.append(Pending(path: path, rules: rules, above: above))
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

    // MARK: Each entry: taken, left out, or refused

    /// Takes the files of a directory; returns the names of its subdirectories.
    /// - Parameter rules: on entry those of the parent, on return those of this directory.
    private mutating func list(
        _ directory: Int32, _ rules: inout SourceRules
    ) throws(StoreError) -> [[UInt8]] {
        try checkInterruption()
        // All names first: a `.castreeignore` among them decides over the others.
        var entries = EntryNames()
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            entries.append(entry, kind)
            return true
        }
        if entries.holdIgnoreFile, let lines = try ignoreFile(in: directory) {
            rules.obey(lines, in: path)
        }
        var names: [[UInt8]] = []
        let length = path.count
        for position in 0..<entries.count {
            // Thousands of patterns may be matched against each name.
            try checkInterruption()
            let (name, kind) = entries[position]
            append(name)
            if try isDirectory(name, kind, directory, rules) { names.append(name) }
            path.removeLast(path.count - length)
        }
        return names
    }

    /// The lines of a directory's `.castreeignore`, which must be a file; `nil` if it has gone meanwhile.
    private func ignoreFile(in directory: Int32) throws(StoreError) -> [UInt8]? {
        let name = String(decoding: UnwantedName.nameOfIgnoreFile, as: UTF8.self)
        guard let status = try fileSystem.status(directory, name) else { return nil }
        guard status.kind == .regular || status.kind == .symbolicLink && followsLinks else {
            throw refuse(
                "a \(name) here is \(status.kind.noun), and only a file says what is left out; make it one, or remove it"
            )
        }
        let file = try fileSystem.open(
            directory, name, followsLinks ? .readingFollowingLinks : .reading, mode: 0)
        let byteCount = try fileSystem.status(file.raw).byteCount
        guard byteCount <= Self.ignoreFileMax else {
            throw refuse("a \(name) here has more than \(sizeText(Self.ignoreFileMax))")
        }
        return try fileSystem.read(file.raw, at: 0, count: Int(byteCount))
    }

    private static let ignoreFileMax: Int64 = 1 << 20

    /// Takes the entry at `path`, leaves it out, or refuses it; returns whether it is a directory to be walked.
    private mutating func isDirectory(
        _ name: [UInt8], _ kind: FileStatus.Kind, _ directory: Int32, _ rules: SourceRules
    ) throws(StoreError) -> Bool {
        let text = String(decoding: name, as: UTF8.self)
        var kind = kind
        if kind == .unknown {
            // Refuse a name that is not UTF-8 before its repaired spelling is looked up.
            try validate(name)
            guard let status = try fileSystem.status(directory, text) else { return false }
            kind = status.kind
        }
        if kind == .regular { try refuseOwn(name, in: directory) }
        let verdict = verdict(kind == .directory, rules)
        guard verdict != .leftOut else { return false }
        if kind == .directory {
            note(verdict, isDirectory: true)
            return true
        }
        try validate(name)
        guard let status = try fileSystem.status(directory, text) else { return false }
        switch status.kind {
        case .directory: return true
        case .symbolicLink where followsLinks:
            let file = try openTarget(directory, text)
            let target = try fileSystem.status(file.raw)
            guard target.kind == .directory else {
                try take(target, verdict, rules, from: file.raw)
                return false
            }
            // A pattern may leave it out as a directory.
            let verdict = self.verdict(true, rules)
            note(verdict, isDirectory: true)
            return verdict != .leftOut
        case .symbolicLink:
            throw refuse(
                "it is a symbolic link; versions hold regular files: "
                    + "give --follow to take what it points to, leave it out with --exclude, or remove it"
            )
        default:
            guard verdict == .asItBegins, status.kind == .regular else {
                try take(status, verdict, rules, from: nil)
                return false
            }
            let file = try fileSystem.open(directory, text, .reading, mode: 0)
            try take(status, verdict, rules, from: file.raw)
            return false
        }
    }

    private mutating func verdict(
        _ isDirectory: Bool, _ rules: SourceRules
    ) -> SourceRules.Verdict {
        let verdict = path.withUnsafeBufferPointer {
            rules.verdict(on: $0, isDirectory: isDirectory)
        }
        if verdict == .leftOut { note(verdict, isDirectory: isDirectory) }
        return verdict
    }

    private mutating func note(_ verdict: SourceRules.Verdict, isDirectory: Bool) {
        let shown = String(decoding: path, as: UTF8.self) + (isDirectory ? "/" : "")
        switch verdict {
        case .leftOut: leftOut.append(shown)
        case .takenUnwanted: unwanted.append(shown)
        case .taken, .asItBegins: break
        }
    }

    // A store inside a version would grow with each version; an origin would be shipped with all it offers.
    private func refuseOwn(_ name: [UInt8], in directory: Int32) throws(StoreError) {
        guard let mark = OwnMark(of: name),
            try mark.isMark(String(decoding: name, as: UTF8.self), in: directory, fileSystem)
        else { return }
        throw refuse(mark.objection)
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

    /// - Parameter file: open only if the first bytes of the file decide whether it is taken.
    private mutating func take(
        _ status: FileStatus, _ verdict: SourceRules.Verdict, _ rules: SourceRules,
        from file: Int32?
    ) throws(StoreError) {
        guard status.kind == .regular else {
            throw refuse("it is \(status.kind.noun); versions hold regular files only")
        }
        var verdict = verdict
        if verdict == .asItBegins, let file {
            let mark = UnwantedName.appleDouble
            let isLong = status.byteCount >= mark.count
            let head = isLong ? try fileSystem.read(file, at: 0, count: mark.count) : []
            verdict = head == mark ? rules.verdictOnJunk : .taken
        }
        note(verdict, isDirectory: false)
        guard verdict != .leftOut else { return }
        guard count < countMax else { throw tooMany() }
        count += 1
        if parts.last?.isFull ?? true { parts.append(SourceFiles.part()) }
        parts[parts.count - 1].append(path, status)
    }

    private mutating func append(_ name: [UInt8]) {
        if !path.isEmpty { path.append(47) }
        path.append(contentsOf: name)
    }

    /// Refuses `path`, which ends with `name`, if a version cannot have it.
    private func validate(_ name: [UInt8]) throws(StoreError) {
        // ASCII, which nearly all names are, needs no closer look.
        let isASCII = name.allSatisfy { $0 < 0x80 }
        guard isASCII || String(validating: path, as: UTF8.self) != nil else {
            throw refuse("its name is not UTF-8; rename it")
        }
        if let objection = path.withUnsafeBufferPointer({ TreePath.objection(to: $0) }) {
            throw StoreError(.badPath, objection)
        }
    }
}

/// The names and kinds of a directory's entries, in two arrays because there may be a million.
private struct EntryNames {
    private var bytes: [UInt8] = []
    private var entries: [(end: Int, kind: FileStatus.Kind)] = []
    private(set) var holdIgnoreFile = false

    var count: Int { entries.count }

    mutating func append(_ name: UnsafePointer<CChar>, _ kind: FileStatus.Kind) {
        withBytes(of: name) {
            bytes += $0
            if $0.elementsEqual(UnwantedName.nameOfIgnoreFile) { holdIgnoreFile = true }
        }
        entries.append((bytes.count, kind))
    }

    subscript(position: Int) -> (name: [UInt8], kind: FileStatus.Kind) {
        let start = position == 0 ? 0 : entries[position - 1].end
        return (Array(bytes[start..<entries[position].end]), entries[position].kind)
    }
}
