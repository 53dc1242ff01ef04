import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let adopt = Command(
        "adopt", summary: "imports what the app was shipped with, to go back to if all else fails",
        discussion: """
            Run it each time the app starts, before castree boot or castree serve. The version becomes \
            current unless what is current is newer; if an origin sends devices back to what they \
            were shipped with, this is it. Nothing retires it until another is adopted. The second \
            time it costs nothing, and an update of the app is noticed by the version's name.

            A directory with Meteor's program.json is adopted under the version that stands there, \
            with its URLs and what it requires; --version may be left out. Name it all the same if \
            you like: the name there counts.

            Files are left out as by castree add: --exclude, --skip-junk, .castreeignore. A directory without \
            files is refused: a mount may come later than the app.

                castree adopt /usr/share/kiosk/app --version 2025.11.1
            """,
        arguments: [
            Argument("DIR", "the directory that was shipped", completion: .directories)
        ],
        options: [
            .text(
                "version", placeholder: "NAME", "the version's name; other content needs another"),
            .integer(
                "order", in: 1...Int.max,
                "its place among the origin's releases: their sequence, or their Meteor order"),
            .flag("compare", "look at every file, even if the name is the same as before"),
            .flag(
                "downloads-first",
                "if nothing tells which is newer, keep showing what was downloaded"),
        ] + Option.leavingOut + Option.device.filter { ["app", "group"].contains($0.name) }
    ) { invocation in
        let directory = invocation.argument("DIR")
        let excluded = try invocation.excluded()
        let given = try invocation.value("version")
        if let given { _ = try VersionName(given) }
        guard let name = given ?? VersionStore.shippedName(in: directory) else {
            throw CommandError.usage(
                "--version NAME is missing: nothing in \(directory) names the version")
        }
        let opened = try invocation.openOrCreateStore {
            try ImportSource.refuse($0, in: directory)
            // An adoption that is refused must not leave an empty store behind.
            let listing = try DirectoryListing(
                of: directory, followingLinks: false,
                obeying: SourceRules(
                    excluding: excluded, skippingJunk: invocation.flag("skip-junk")),
                isInterrupted: { Interruption.isRequested })
            if listing.isEmpty { throw StoreError.emptyShipment(directory) }
        }
        let versions = opened.recordingEvents()
        var embedded = EmbeddedVersion(
            directory: directory, version: name,
            order: try invocation.integer("order").map { Int64($0) })
        embedded.winsWhenInDoubt = !invocation.flag("downloads-first")
        embedded.comparesContent = invocation.flag("compare")
        embedded.excluded = excluded
        embedded.skipsJunk = invocation.flag("skip-junk")
        let report = try versions.adopt(embedded, app: invocation.appTraits())
        return try invocation.show(report)
    }
}

extension Invocation {
    fileprivate func show(_ report: EmbeddedReport) throws -> ExitStatus {
        note(leftOut: report.leftOut, unwanted: report.unwanted)
        return try self.report { writer in
            writer.member("version", report.version)
            writer.member("isNew", report.isNew)
            writer.member("becameCurrent", report.becameCurrent)
            writer.member("newObjects", report.newObjects)
            writer.member("newBytes", Int(report.newBytes))
            writer.member("reason", report.reason)
            writer.member("leftOut", report.leftOut)
            writer.member("unwanted", report.unwanted)
        } text: { output in
            guard report.isNew else {
                return output.print(
                    "Version \(report.version) was adopted before"
                        + (flag("compare") ? "." : "; --compare would compare its files, too."))
            }
            let objects = counted(report.newObjects, "new object")
            output.print(
                "Adopted version \(report.version): \(objects), \(sizes.text(report.newBytes)).")
            output.print(
                report.becameCurrent
                    ? "It is current now: \(report.reason)."
                    : "What is current stays: \(report.reason).")
        }
    }
}
