import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `add`: imports a directory as a version.
    static let add = Command(
        "add", summary: "imports a directory as a version",
        discussion: """
            Reads the files that changed since they were last read, stores what is new, and builds \
            the version's tree. It reads every file the first time after a reboot, and always on \
            file systems whose change times prove nothing: read-only images, FUSE, networks, \
            memory, overlays.

            Let the build end first: a file that is being written is refused, and so is a \
            directory in which files appear, vanish or are replaced meanwhile.

            When the command ends, the version survives a power cut. If it is interrupted or \
            killed, repeat it; adding the same content under the same name changes nothing. A \
            missing store is created.

                castree add ./dist --version 2025.11.1 --activate
            """,
        arguments: [Argument("DIR", "the directory to import", completion: .directories)],
        options: [
            .text("version", placeholder: "NAME", "the version's name", required: true),
            .flag("activate", "make the version current afterwards"),
            .flag("follow", "follow symbolic links, which are refused otherwise"),
            .flag("no-cache", "read every file, even those that look unchanged"),
            .withoutSync,
        ]
    ) { invocation in
        let directory = invocation.argument("DIR")
        let name = try VersionName(try invocation.requiredValue("version")).description
        var listing: DirectoryListing?
        let opened = try invocation.openOrCreateStore(isDurable: !invocation.flag("no-sync")) {
            try ImportSource(directory).checkIsOutside(store: $0)
            // An add that is refused must not leave an empty store behind.
            listing = try DirectoryListing(
                of: directory, followingLinks: invocation.flag("follow"),
                isInterrupted: { Interruption.isRequested })
        }
        let versions = opened.recordingEvents()
        let report = try invocation.add(directory, listing, as: name, to: versions)
        if let own = VersionStore.shippedName(in: directory) {
            invocation.note(
                "\(directory) has a program.json of Meteor's, for version \(own): its files were added as "
                    + "they are; castree adopt \(directory) also reads its URLs and what it requires"
            )
        }
        let previous = invocation.flag("activate") ? try versions.activate(name) : nil
        return try invocation.report(report, previous: previous)
    }
}

extension Invocation {
    fileprivate func add(
        _ directory: String, _ listing: consuming DirectoryListing?, as name: String,
        to versions: VersionStore
    ) throws(StoreError) -> AddReport {
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = AddOptions()
        options.followsLinks = flag("follow")
        options.usesCache = !flag("no-cache")
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        guard let listing else {
            return try versions.add(directory: directory, version: name, options: options)
        }
        return try versions.add(listing, version: name, options: options)
    }

    fileprivate func report(
        _ added: AddReport, previous: String?
    ) throws -> ExitStatus {
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
            note("version \(version) lacked objects and is complete again")
        }
    }
}
