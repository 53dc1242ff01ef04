public import CASStore
internal import Platform
public import VersionTree

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
