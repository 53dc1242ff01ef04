package import Platform
package import VersionTree

/// Turns a name in an archive into a path of the version, nothing, or a refusal.
package struct EntryRules {
    private let archive: ArchiveName
    private let stripped: [Substring.UTF8View]
    private let rules: SourceRules
    /// What was left out, and what was taken although it is probably unwanted; directories end with a slash.
    private(set) var leftOut: Set<String> = []
    private(set) var unwanted: Set<String> = []
    /// The names so far, `true` for a file, by digests of bytes: spellings differ, and depth takes no memory.
    private var names: [NameDigest: Bool] = [:]
    /// The number of files and directories, including implied ones.
    package var nameCount: Int { names.count }

    /// A part of a name's SHA-256, long enough to prevent collisions.
    private struct NameDigest: Hashable {
        var high: UInt64
        var low: UInt64

        init(_ name: some Collection<UInt8>) throws(StoreError) {
            var digester = try Digester(.sha256)
            Array(name).withUnsafeBytes { digester.update($0) }
            let words = digester.finish { $0.loadUnaligned(as: (UInt64, UInt64).self) }
            (high, low) = words
        }
    }

    /// - Parameters:
    ///   - stripped: a directory of the archive that must hold all of it, and becomes the version.
    ///   - rules: what is left out, by its path in the archive.
    package init(
        _ archive: ArchiveName, stripping stripped: String?, obeying rules: SourceRules
    ) {
        self.archive = archive
        self.stripped = (stripped ?? "")[...].utf8.split(separator: Self.slash)
        self.rules = rules
    }

    private static let slash: UInt8 = 47

    /// The path of a file in the version; `nil` for a directory, and for what is left out.
    /// - Parameter name: as the archive has it.
    /// - Throws: `.badPath`; `.badArchive` for a name that occurs twice, or as a file and a directory, and for a file
    ///   outside the directory to be stripped.
    package mutating func path(of name: String, isDirectory: Bool) throws(StoreError) -> TreePath? {
        var rest = name[...].utf8
        // `tar -C DIR .` puts it before every name.
        while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2) }
        if isDirectory {
            if rest.last == Self.slash { rest = rest.dropLast() }
            if rest.isEmpty || rest.elementsEqual(".".utf8) { return nil }
        }
        let path: TreePath
        do throws(StoreError) {
            path = try TreePath(String(Substring(rest)))
        } catch {
            throw archive.refusal(error.message, entry: name, error.code)
        }
        try note(Array(rest), isFile: !isDirectory, name)
        switch verdict(on: Array(rest), isDirectory: isDirectory) {
        case (.leftOut, let place):
            leftOut.insert(place)
            return nil
        case (.takenUnwanted, let place) where !isDirectory: unwanted.insert(place)
        default: break
        }
        return isDirectory ? nil : try strip(path, name)
    }

    /// The verdict on a path, and the part of it that decides, such as a directory that is left out.
    private func verdict(
        on path: [UInt8], isDirectory: Bool
    ) -> (SourceRules.Verdict, String) {
        var unwanted: String?
        return path.withUnsafeBufferPointer { path in
            func shown(_ part: UnsafeBufferPointer<UInt8>) -> String {
                String(decoding: part, as: UTF8.self)
                    + (part.count < path.count || isDirectory ? "/" : "")
            }
            for end in path.indices where path[end] == Self.slash {
                let part = UnsafeBufferPointer(rebasing: path[..<end])
                switch rules.verdict(on: part, isDirectory: true) {
                case .leftOut: return (.leftOut, shown(part))
                case .takenUnwanted: unwanted = unwanted ?? shown(part)
                case .taken, .asItBegins: break
                }
            }
            let own = rules.verdict(on: path, isDirectory: isDirectory)
            if own != .leftOut, let unwanted { return (.takenUnwanted, unwanted) }
            return (own, shown(path))
        }
    }

    /// The path in the version of the file to which an entry is a hard link; `nil` if that is left out.
    /// - Throws: `.badArchive` unless it is a file that precedes the link; `.badPath`.
    func target(of name: String, named target: String) throws(StoreError) -> TreePath? {
        var rest = target[...].utf8
        while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2) }
        let place = "it is a hard link to \"\(printable(target))\", "
        let path: TreePath
        do throws(StoreError) {
            path = try TreePath(String(Substring(rest)))
        } catch {
            throw archive.refusal(place + "out of the archive", entry: name)
        }
        var own = name[...].utf8
        while own.starts(with: "./".utf8) { own = own.dropFirst(2) }
        switch own.elementsEqual(rest) ? nil : names[try NameDigest(rest)] {
        case true?: break
        case false?: throw archive.refusal(place + "which is a directory", entry: name)
        case nil:
            throw archive.refusal(place + "and no file of this name stands before it", entry: name)
        }
        if verdict(on: Array(rest), isDirectory: false).0 == .leftOut { return nil }
        return try strip(path, target)
    }

    private mutating func note(
        _ path: [UInt8], isFile: Bool, _ name: String
    ) throws(StoreError) {
        let own = try NameDigest(path)
        switch names[own] {
        case nil: names[own] = isFile
        // Archives may name a directory repeatedly.
        case false? where !isFile: break
        case true? where isFile: throw archive.refusal("it is there twice", entry: name)
        default: throw archive.refusal("it is a file and a directory there", entry: name)
        }
        var above = path[...]
        while let end = above.lastIndex(of: Self.slash) {
            above = above[..<end]
            let digest = try NameDigest(above)
            switch names[digest] {
            case nil: names[digest] = false
            case false?: return
            case true?:
                throw archive.refusal(
                    "it lies below \"\(printable(String(decoding: above, as: UTF8.self)))\", "
                        + "which is a file there", entry: name)
            }
        }
    }

    private func strip(_ path: TreePath, _ name: String) throws(StoreError) -> TreePath {
        guard !stripped.isEmpty else { return path }
        let parts = path.description[...].utf8.split(separator: Self.slash)
        guard parts.count > stripped.count,
            zip(parts, stripped).allSatisfy({ $0.elementsEqual($1) })
        else {
            let prefix = stripped.map { String(Substring($0)) }.joined(separator: "/")
            throw archive.refusal("it does not lie below \(printable(prefix))/", entry: name)
        }
        let rest = parts.dropFirst(stripped.count).map { String(Substring($0)) }
        return try TreePath(rest.joined(separator: "/"))
    }
}
