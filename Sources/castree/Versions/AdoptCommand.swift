import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let adopt = Command(
        "adopt",
        summary: "imports the embedded version (shipped with the app) as the last fallback",
        discussion: """
            Run it each time the app starts, before castree boot or castree serve. The version \
            becomes current unless the current one is newer. If an origin sends devices back to \
            the version they were shipped with, they show this one. It is not retired until \
            another one is adopted. Repeating the command costs nothing; an update of the app is \
            recognized by the version's name.

            A directory with Meteor's program.json is adopted under the version named there, with \
            its URLs and requirements. --version may then be left out; the name in program.json \
            takes precedence.

            --exclude, --skip-junk and .castreeignore leave files out as in castree add. A \
            directory without files is refused, because it may be a mount point that is not \
            mounted yet.

                castree adopt /usr/share/kiosk/app --version 2025.11.1
            """,
        arguments: [
            Argument("DIR", "the directory that was shipped", completion: .directories)
        ],
        options: [
            .text(
                "version", placeholder: "NAME",
                "the version's name; different content needs a different name"),
            .integer(
                "order", in: 1...Int.max,
                "its place among the origin's releases: a sequence number, or Meteor's order"),
            .flag("compare", "compare every file, even if the name is unchanged"),
            .flag(
                "downloads-first",
                "if castree cannot tell which is newer, keep the downloaded version current"),
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
        var embedded = EmbeddedVersion(
            directory: directory, version: name,
            order: try invocation.integer("order").map { Int64($0) })
        embedded.winsWhenInDoubt = !invocation.flag("downloads-first")
        embedded.comparesContent = invocation.flag("compare")
        embedded.excluded = excluded
        embedded.skipsJunk = invocation.flag("skip-junk")
        let listed = embedded.adding
        let versions = try invocation.openOrCreateStore {
            try ImportSource.refuse($0, in: directory)
            // An adoption that is refused must not leave an empty store behind.
            _ = try DirectoryListing(
                of: directory, listed, isInterrupted: { Interruption.isRequested })
        }.recordingEvents()
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
                    : "The current version stays: \(report.reason).")
        }
    }
}
