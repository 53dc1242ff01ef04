import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

extension Command {
    static let add = Command(
        "add", summary: "imports a directory or an archive as a version",
        discussion: """
            Reads the files that changed since they were last read, stores what is new, and \
            builds the version's tree. It reads every file the first time after a reboot, and \
            always on file systems whose change times prove nothing: read-only images, FUSE, \
            networks, memory, overlays.

            Let the build end first: a file that is being written is refused, and so is a \
            directory in which files appear, vanish or are replaced meanwhile.

            When the command ends, the version survives a power cut. If it is interrupted or \
            killed, repeat it; adding the same content under the same name changes nothing. A \
            missing store is created.

                castree add ./dist --version 2025.11.1 --activate

            SOURCE may also be a .zip, .tar, .tar.gz, .tar.zst or .tar.br; - reads a tar \
            archive from standard input (not .tar.br). The files go straight into the store, \
            and only whether they are executable is kept of their modes.

                castree add release.zip --version 42 --strip CodePush/
                curl -s https://example.org/42.tar.gz | castree add - --version 42

            What is not for users is left out by --exclude and by .castreeignore files in the \
            directory, which have the rules of .gitignore and are left out themselves; what \
            --exclude says counts first. Version control (.git, .hg, .svn …) is left out \
            unless a pattern names it. In archives --exclude alone counts, and patterns see \
            the paths before --strip.

                castree add ./dist --version 42 --exclude '*.map' --exclude .env --skip-junk

            An archive is refused, with the name of the entry, if it holds symbolic links or devices, \
            hard links but to a file before them, encrypted files, names that lead elsewhere or stand twice, or names that are \
            neither said to be UTF-8 nor UTF-8 made on Unix; if it is damaged, cut off, joined \
            with something else, or if another program would find other files in it; and if it \
            expands to more than --max-size, or to more than a thousand times its size.
            """,
        arguments: [
            Argument("SOURCE", "the directory or archive to import", completion: .files)
        ],
        options: [
            .text("version", placeholder: "NAME", "the version's name", required: true),
            .flag("activate", "make the version current afterwards"),
            .flag("allow-empty", "add a directory or archive without files, too"),
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
        let name = try VersionName(try requiredValue("version")).description
        let rules = try SourceRules(excluding: excluded(), skippingJunk: flag("skip-junk"))
        var listing: DirectoryListing?
        let opened = try openOrCreateStore(isDurable: !flag("no-sync")) {
            try ImportSource.refuse($0, in: directory)
            // An add that is refused must not leave an empty store behind.
            listing = try DirectoryListing(
                of: directory, followingLinks: flag("follow"), obeying: rules,
                isInterrupted: { Interruption.isRequested })
            if listing?.isEmpty == true, !flag("allow-empty") {
                throw StoreError.emptySource(printable(directory))
            }
        }
        let versions = opened.recordingEvents()
        let report = try add(directory, listing, as: name, to: versions)
        if let own = VersionStore.shippedName(in: directory) {
            note(
                "\(directory) has a program.json of Meteor's, for version \(own): its files were added as "
                    + "they are; castree adopt \(directory) also reads its URLs and what it requires"
            )
        }
        let previous = flag("activate") ? try versions.activate(name) : nil
        return try self.report(report, previous: previous)
    }

    private func add(
        _ directory: String, _ listing: consuming DirectoryListing?, as name: String,
        to versions: VersionStore
    ) throws -> AddReport {
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = AddOptions()
        options.followsLinks = flag("follow")
        options.excluded = try excluded()
        options.skipsJunk = flag("skip-junk")
        options.usesCache = !flag("no-cache")
        if !flag("allow-empty") { options.emptyRefusal = .emptySource(printable(directory)) }
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        guard let listing else {
            return try versions.add(directory: directory, version: name, options: options)
        }
        return try versions.add(listing, version: name, options: options)
    }
}

extension Option {
    static let ofDirectories: [Option] = [
        .flag("follow", "follow symbolic links, which are refused otherwise; for directories"),
        .flag(
            "no-cache", "read every file, even those that look unchanged; for directories"),
    ]

    static let ofArchives: [Option] = [
        .text(
            "strip", placeholder: "DIR",
            "import only what is below this directory of the archive, which holds nothing else"),
        .text(
            "max-size", placeholder: "BYTES",
            "refuse an archive whose files are larger than this together", fallback: "1GiB"),
    ]

    static let leavingOut: [Option] = [
        .text(
            "exclude", placeholder: "PATTERN",
            "leave out what matches, by gitignore's rules; !PATTERN takes it after all",
            repeats: true),
        .flag(
            "skip-junk",
            "leave out what systems leave behind: .DS_Store, ._* of macOS, __MACOSX/, Thumbs.db, "
                + "desktop.ini"),
    ]
}
