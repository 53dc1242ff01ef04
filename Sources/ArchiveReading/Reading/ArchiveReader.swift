public import CASStore
package import Platform
public import VersionTree

package struct ArchiveOptions {
    /// A directory of the archive that must hold all of it, and becomes the version.
    package var stripped: String?
    /// What to leave out, by its path in the archive and the rules of gitignore(5).
    package var excluded: [String] = []
    /// Whether to leave out what systems leave behind, such as `.DS_Store`.
    package var skipsJunk = false
    /// The most bytes that all files may have together.
    package var byteCountMax: Int64 = 1 << 30
    /// Gets how much is done, and the total if that is known.
    package var progress: (Int64, Int64?) -> Void = { _, _ in }

    /// Strips nothing, leaves out what belongs to version control, takes a gibibyte.
    package init() {}
}

/// An archive from an untrusted source, whose files become a version.
///
/// Strict: anything ambiguous to programs, or that a version cannot hold, is refused with the entry's name. Of the
/// modes only the executable bit is kept; directories without files are ignored. Belongs to one thread.
package final class ArchiveReader {
    private let source: ArchiveSource
    private let options: ArchiveOptions
    private let kind: Kind

    private enum Kind {
        case zip(ZipReading)
        case tar(TarReading)
    }

    /// Checks what it can before unpacking: the format by content and name, and a zip archive's whole directory.
    /// - Throws: `.badArchive`, `.badPath`, `.tooLarge`; `.unsupportedFile` for a zip archive from a pipe; reading
    ///   errors.
    package init(_ source: ArchiveSource, _ options: ArchiveOptions) throws(StoreError) {
        self.source = source
        self.options = options
        let head = try source.peek(ArchiveFormat.headByteCount)
        let rules = EntryRules(
            source.name, stripping: options.stripped,
            obeying: try SourceRules(
                excluding: options.excluded, skippingJunk: options.skipsJunk))
        let expansion = Expansion(source.name, byteCountMax: options.byteCountMax)
        switch try ArchiveFormat(head, named: source.name) {
        case .zip:
            guard let size = source.byteCount else {
                throw source.name.refusal(
                    "it is a zip archive, whose directory stands at its end, so it cannot be read "
                        + "from a pipe; save it in a file", .unsupportedFile)
            }
            kind = .zip(try ZipReading(source, size: size, rules, expansion))
        case .tar(let compression):
            try ArchiveSource.requireLibarchive()
            let stream = try DecompressedStream(source, compression)
            kind = .tar(try TarReading(stream, source.name, rules, expansion))
        }
    }

    /// - Throws: `.badArchive`, `.badPath`, `.tooLarge` with the entry; intake errors. Discard the intake's files then.
    @discardableResult
    package func read(into intake: any ArchiveIntake) throws(StoreError) -> Leavings {
        let sieve = IntakeSieve(intake, source.name, leavesOut: options.skipsJunk)
        let rules: EntryRules
        switch kind {
        case .zip(let zip):
            try zip.read(into: sieve) { options.progress($0, zip.byteCount) }
            rules = zip.rules
        case .tar(let tar):
            try tar.read(into: sieve) { options.progress(source.offset, source.byteCount) }
            rules = tar.rules
        }
        var leavings = Leavings(
            leftOut: Array(rules.leftOut), unwanted: Array(rules.unwanted))
        if options.skipsJunk {
            leavings.leftOut += sieve.found
        } else {
            leavings.unwanted += sieve.found
        }
        leavings.leftOut.sort()
        leavings.unwanted = UnwantedName.outermost(leavings.unwanted)
        return leavings
    }

    /// What a reading has left out, and what it took although it is probably unwanted.
    package struct Leavings {
        package var leftOut: [String]
        package var unwanted: [String]
    }
}

extension VersionStore {
    /// Imports an archive from an untrusted source as a version, without unpacking it anywhere else.
    ///
    /// For apps whose server sends releases as archives: the bytes go straight into the store, which keeps nothing
    /// twice. It reads .zip, .tar, .tar.gz, .tar.zst and .tar.br, identified by their first bytes (.tar.br by its
    /// name), and of the modes only whether a file is executable. Verify the archive's own digest or signature
    /// before: castree proves that it is sound, not who made it.
    ///
    /// Strict: it refuses anything that two programs could understand differently, and anything that a version cannot
    /// hold (links, devices, names that lead elsewhere or occur twice, encryption, damage, appended data). Blocks the
    /// thread; any thread may call it. When it returns, the version survives a power cut. If the process is killed
    /// before that, there is no such version, and the call may be repeated; adding the same content again under the
    /// same name changes nothing.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - version: the version's name.
    ///   - directory: a directory of the archive that must hold all of it and is removed, such as CodePush's
    ///     `CodePush`.
    ///   - patterns: what to leave out, by its path in the archive and the rules of gitignore(5).
    ///   - skipsJunk: whether to leave out what systems leave behind: `.DS_Store`, AppleDouble files, `__MACOSX`,
    ///     `Thumbs.db`, `desktop.ini`.
    ///   - byteCountMax: the most bytes that all files may have together.
    /// - Throws: `.notFound`, `.permission`; `.badArchive`, `.badPath`, `.tooLarge` with the entry,
    ///   `.unsupportedFile` for a zip archive that is a pipe; `.badName`, `.versionExists` if the name is taken by
    ///   other content, `.pathCollision`; `.outOfSpace`, `.interrupted`, `.writesRefused`.
    @discardableResult
    public func add(
        archive path: String, version: String, stripping directory: String? = nil,
        excluding patterns: [String] = [], skippingJunk skipsJunk: Bool = false,
        byteCountMax: Int64 = 1 << 30
    ) throws(StoreError) -> AddReport {
        var options = ArchiveOptions()
        (options.excluded, options.skipsJunk) = (patterns, skipsJunk)
        (options.stripped, options.byteCountMax) = (directory, byteCountMax)
        let source = try ArchiveSource(path: path) { (_) throws(StoreError) in }
        return try ArchiveReader(source, options).add(to: self, as: version)
    }
}

extension ArchiveReader {
    /// Makes the files a version atomically.
    /// - Throws: as reading; what recording a version throws.
    package func add(
        to versions: VersionStore, as version: String, takingEmpty takesEmpty: Bool = true
    ) throws(StoreError) -> AddReport {
        let intake = try FileIntake(versions, version: version)
        var leavings: Leavings?
        try intake.writingBehind { () throws(StoreError) in leavings = try read(into: intake) }
        guard takesEmpty || !intake.isEmpty else { throw .emptySource("the archive") }
        return try intake.record(
            leavingOut: leavings?.leftOut ?? [], unwanted: leavings?.unwanted ?? [])
    }
}
