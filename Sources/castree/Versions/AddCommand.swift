import ArchiveReading
import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let add = Command(
        "add", summary: "imports a directory or an archive as a version",
        discussion: """
            Reads the files that have changed since the last import, stores new content, and builds the \
            version's tree. It reads every file the first time after a reboot, and always on file \
            systems without reliable change times: read-only images, FUSE, network, tmpfs and \
            overlay mounts.

            Let the build finish first. castree refuses a file that is being written, and a \
            directory in which files appear, disappear or are replaced during the import.

            When the command ends, the version survives a power cut. If the command is interrupted \
            or killed, repeat it. Adding the same content under the same name changes nothing. A \
            missing store is created.

                castree add ./dist --version 2025.11.1 --activate

            SOURCE may also be a .zip, .tar, .tar.gz, .tar.zst or .tar.br archive; - reads a tar \
            archive from standard input (not .tar.br). Files go straight into the store. Of their \
            modes, only the executable bit is kept.

                castree add release.zip --version 42 --strip CodePush/
                curl -s https://example.org/42.tar.gz | castree add - --version 42

            To leave files out, use --exclude, or .castreeignore files in the directory. These \
            follow the rules of .gitignore and are left out themselves; --exclude takes \
            precedence. Version control (.git, .hg, .svn …) is left out unless a pattern names it. \
            For archives only --exclude applies, to the paths before --strip.

                castree add ./dist --version 42 --exclude '*.map' --exclude .env --skip-junk

            castree refuses an archive, and names the entry, if it holds symbolic links or \
            devices, encrypted files, hard links to anything but an earlier file, names that lead \
            out of the directory or occur twice, or names in an unknown encoding. It also refuses \
            an archive that is damaged, truncated, joined with other data or ambiguous to other \
            programs, and one that expands to more than --max-size or a thousand times its own \
            size.
            """,
        arguments: [
            Argument("SOURCE", "the directory or archive to import", completion: .files)
        ],
        options: [
            .text("version", placeholder: "NAME", "the version's name", required: true),
            .flag("activate", "make the version current afterwards"),
            .flag("allow-empty", "accept a directory or archive without files"),
        ] + Option.leavingOut + Option.ofDirectories + Option.ofArchives + [.withoutSync]
    ) { invocation in
        let source = invocation.argument("SOURCE")
        if source == "-" { return try invocation.addArchive() }
        if Option.ofArchives.contains(where: { invocation.isGiven($0.name) }) {
            if try ImportSource.isFile(source) { return try invocation.addArchive() }
            try ImportSource.require(source)
            try invocation.refuse(Option.ofArchives, "is for archives, and \(source) is none")
        }
        do {
            return try invocation.add(source)
        } catch let error as StoreError {
            // Looked at only after an error, because directories are the usual case.
            if error.code == .notFound { try ImportSource.require(source) }
            guard error.isNotDirectory, try ImportSource.isFile(source) else { throw error }
        }
        return try invocation.addArchive()
    }
}

extension Invocation {
    fileprivate func add(_ directory: String) throws -> ExitStatus {
        let name = try VersionName(try requiredValue("version"))
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = AddOptions()
        options.followsLinks = flag("follow")
        options.excluded = try excluded()
        options.skipsJunk = flag("skip-junk")
        options.usesCache = !flag("no-cache")
        if !flag("allow-empty") { options.emptyRefusal = .emptySource(printable(directory)) }
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        var listing: DirectoryListing?
        let versions = try openOrCreateStore(isDurable: !flag("no-sync")) {
            try ImportSource.refuse($0, in: directory)
            // An add that is refused must not leave an empty store behind.
            listing = try DirectoryListing(
                of: directory, options, isInterrupted: { Interruption.isRequested })
        }.recordingEvents()
        let report: AddReport
        if let listing = listing.take() {
            report = try versions.add(listing, as: name)
        } else {
            report = try versions.add(
                directory: directory, version: name.description, options: options)
        }
        bar.finish()
        if let own = VersionStore.shippedName(in: directory) {
            note(
                "\(directory) has a program.json of Meteor's, for version \(own): its files were added as they are; castree adopt \(directory) also reads its URLs and requirements"
            )
        }
        return try activateAndReport(report, of: versions)
    }

    private func activateAndReport(_ report: AddReport, of versions: VersionStore) throws
        -> ExitStatus
    {
        let previous = flag("activate") ? try versions.activate(report.version) : nil
        return try self.report(report, previous: previous)
    }

    // MARK: An archive

    fileprivate func addArchive() throws -> ExitStatus {
        let name = try VersionName(try requiredValue("version")).description
        let path = argument("SOURCE")
        try refuse(Option.ofDirectories, "is for directories, and \(path) is an archive")
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = ArchiveOptions()
        options.stripped = try value("strip")
        options.excluded = try excluded()
        options.skipsJunk = flag("skip-junk")
        options.byteCountMax = try byteCount("max-size") ?? options.byteCountMax
        options.progress = { bar.report($0, of: $1) }
        let source =
            path == "-"
            ? try ArchiveSource(standardInput: Self.waitForInput)
            : try ArchiveSource(path: path, wait: Self.waitForInput)
        // An archive that can be recognized as wrong here must not create a store, nor leave an empty one behind.
        let reader = try ArchiveReader(source, options)
        return try leavingNoEmptyStore {
            let versions = try openOrCreateStore(isDurable: !flag("no-sync")).recordingEvents()
            let report = try reader.add(
                to: versions, as: name, takingEmpty: flag("allow-empty"))
            bar.finish()
            try noteTop(report, versions.manifest(of: name), path)
            if !isGiven("exclude"),
                report.leftOut.contains(where: { ("/" + $0).hasSuffix("/.castreeignore") })
            {
                note(
                    "the .castreeignore in \(printable(path)) has no effect in an archive; use --exclude PATTERN"
                )
            }
            return try activateAndReport(report, of: versions)
        }
    }

    /// Reports that all of an archive lies below one directory, which is probably not meant.
    private func noteTop(_ report: AddReport, _ manifest: Manifest, _ path: String) throws {
        let unwanted = Set(report.unwanted)
        let names = manifest.entries.map(\.path.description)
        let tops = Set(
            names.map { $0.prefix { $0 != "/" } }.filter { !unwanted.contains($0 + "/") })
        guard try value("strip") == nil, let top = tops.first, tops.count == 1,
            !names.contains(String(top))
        else { return }
        note(
            "all files of \(printable(path)) are below \(printable(String(top)))/, also in the version; --strip \(printable(String(top)))/ removes that directory"
        )
    }

    /// Waits until there is something to read; a signal ends it.
    private static func waitForInput(_ descriptor: Int32?) throws(StoreError) {
        if let descriptor { waitUntilReadable(descriptor) }
        if Interruption.isRequested { throw .interruption }
    }

    // MARK: The report

    private func report(_ added: AddReport, previous: String?) throws -> ExitStatus {
        note(added)
        return try report { writer in
            writer.member("version", added.version)
            writer.member("files", added.files)
            writer.member("bytes", added.bytes)
            writer.member("newObjects", added.newObjects)
            writer.member("newBytes", added.newBytes)
            writer.member("activated", flag("activate"))
            writer.key("twins")
            writer.array(added.collisions) { writer, collision in
                writer.array([collision.first, collision.second]) { $0.string($1) }
            }
            writer.member("healed", added.healed)
            writer.member("leftOut", added.leftOut)
            writer.member("unwanted", added.unwanted)
        } text: { output in
            let files = counted(added.files, "file")
            let objects = counted(added.newObjects, "new object")
            output.print(
                """
                Added version \(added.version): \(files), \(sizes.text(added.bytes)); \
                \(objects), \(sizes.text(added.newBytes)).
                """)
            if flag("activate") {
                output.print(sentence(onSwitchTo: added.version, from: previous))
            }
        }
    }

    private func note(_ added: AddReport) {
        let shownCount = 5
        for collision in added.collisions.prefix(shownCount) {
            note(
                "\"\(collision.first)\" and \"\(collision.second)\" would be one file on a file system that "
                    + "ignores case or Unicode form")
        }
        if added.collisions.count > shownCount {
            note("and \(counted(added.collisions.count - shownCount, "more such pair"))")
        }
        for version in added.healed {
            note("version \(version) was missing objects and is complete again")
        }
        note(leftOut: added.leftOut, unwanted: added.unwanted)
    }
}

extension Option {
    static let ofDirectories: [Option] = [
        .flag("follow", "follow symbolic links, which are otherwise refused (directories only)"),
        .flag(
            "no-cache", "read every file, even if it looks unchanged (directories only)"),
    ]

    static let ofArchives: [Option] = [
        .text(
            "strip", placeholder: "DIR",
            "remove this directory from all paths; the archive must hold nothing else"),
        .text(
            "max-size", placeholder: "BYTES",
            "refuse an archive whose files are larger than this in total", fallback: "1GiB"),
    ]

    static let leavingOut: [Option] = [
        .text(
            "exclude", placeholder: "PATTERN",
            "leave out files that match, by gitignore's rules; !PATTERN includes them again",
            repeats: true),
        .flag(
            "skip-junk",
            "leave out operating-system clutter: .DS_Store, macOS's ._* files, __MACOSX/, "
                + "Thumbs.db, desktop.ini"),
    ]
}
