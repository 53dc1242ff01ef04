import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

extension Command {
    /// `add` of a directory; archives are left to castree-import.
    static let add = Command.add { invocation in
        let source = invocation.argument("SOURCE")
        guard source != "-" else { try SiblingProgram.importing.become() }
        if Option.ofArchives.contains(where: { invocation.isGiven($0.name) }) {
            if try ImportSource.isFile(source) { try SiblingProgram.importing.become() }
            try ImportSource.require(source)
            try invocation.refuse(Option.ofArchives, "is for archives, and \(source) is none")
        }
        do {
            return try invocation.add(source)
        } catch let error as StoreError {
            // Only now is it worth a look: directories are the usual thing.
            if error.code == .notFound { try ImportSource.require(source) }
            guard error.isNotDirectory, try ImportSource.isFile(source) else { throw error }
        }
        try SiblingProgram.importing.become()
    }
}

extension Invocation {
    fileprivate func add(_ directory: String) throws -> ExitStatus {
        let name = try VersionName(try requiredValue("version")).description
        let rules = try SourceRules(excluding: excluded(), skippingJunk: flag("skip-junk"))
        var listing: DirectoryListing?
        let opened = try openOrCreateStore(isDurable: !flag("no-sync")) {
            try ImportSource(directory).checkIsOutside(store: $0)
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
