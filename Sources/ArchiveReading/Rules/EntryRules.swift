package import Platform
package import VersionTree

/// What a name in an archive becomes in a version: a path, nothing, or a refusal.
package struct EntryRules {
    private let archive: ArchiveName
    /// The components that every file must begin with, and that are taken away.
    private let stripped: [Substring.UTF8View]
    private let skipsJunk: Bool
    /// The names so far, `true` for a file and `false` for a directory; by digests of their bytes: two spellings are two
    /// names, and what a deep one takes does not grow with its depth.
    private var names: [NameDigest: Bool] = [:]
    /// How many files and directories there are, those that only stand in names among them.
    package var nameCount: Int { names.count }

    /// A part of the SHA-256 of a name, long enough that nobody finds two names with one.
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

    /// Makes the rules for an archive.
    /// - Parameters:
    ///   - stripped: a directory of the archive: only what is below it may be in it, and becomes the version.
    ///   - skipsJunk: leave out what macOS puts in besides: `__MACOSX/` and `.DS_Store`.
    package init(_ archive: ArchiveName, stripping stripped: String?, skippingJunk skipsJunk: Bool)
    {
        self.archive = archive
        self.stripped = (stripped ?? "")[...].utf8.split(separator: Self.slash)
        self.skipsJunk = skipsJunk
    }

    private static let slash: UInt8 = 47

    /// The path of a file in the version; `nil` for what is left out: directories, and junk.
    ///
    /// - Parameter name: as the archive has it.
    /// - Throws: `.badPath`; `.badArchive` for a name that is there twice, or as a file and a directory, and for a file
    ///   outside the directory to be stripped.
    package mutating func path(of name: String, isDirectory: Bool) throws(StoreError) -> TreePath? {
        var rest = name[...].utf8
        // `tar -C DIR .` puts it before every name.
        while rest.starts(with: "./".utf8) { rest = rest.dropFirst(2) }
        if isDirectory {
            if rest.last == Self.slash { rest = rest.dropLast() }
            if rest.isEmpty || rest.elementsEqual(".".utf8) { return nil }
        }
        if rest.count >= 2, rest.dropFirst().first == 58, let letter = rest.first,
            (65...90).contains(letter & 0xDF)
        {
            throw archive.refusal("its name begins with a drive letter", entry: name, .badPath)
        }
        let path: TreePath
        do throws(StoreError) {
            path = try TreePath(String(Substring(rest)))
        } catch {
            throw archive.refusal(error.message, entry: name, error.code)
        }
        try note(Array(rest), isFile: !isDirectory, name)
        if isDirectory || skipsJunk && isJunk(rest) { return nil }
        return try strip(path, name)
    }

    /// The file to which an entry is a hard link, by its path in the version; `nil` if that is left out.
    /// - Throws: `.badArchive` unless it is a file that stands before the link; `.badPath`.
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
        switch names[try NameDigest(rest)] {
        case true?: break
        case false?: throw archive.refusal(place + "which is a directory", entry: name)
        case nil:
            throw archive.refusal(place + "and no file of this name stands before it", entry: name)
        }
        if skipsJunk && isJunk(rest) { return nil }
        return try strip(path, target)
    }

    private func isJunk(_ path: Substring.UTF8View) -> Bool {
        let parts = path.split(separator: Self.slash)
        return parts.first?.elementsEqual("__MACOSX".utf8) == true
            || parts.last?.elementsEqual(".DS_Store".utf8) == true
    }

    private mutating func note(
        _ path: [UInt8], isFile: Bool, _ name: String
    ) throws(StoreError) {
        let own = try NameDigest(path)
        switch names[own] {
        case nil: names[own] = isFile
        // Archives may name a directory as often as they like.
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
            // Those above it are noted as well.
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
