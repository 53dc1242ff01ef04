import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let withdraw = Command(
        "withdraw", summary: "withdraws a published version from a channel",
        discussion: """
            Devices that have the version move to the newest remaining release of the channel, \
            even if it is older. Other versions with the same files are withdrawn, too. If no \
            release remains, devices keep what they have; --embedded sends every device back to \
            the version shipped with the app. 'castree prune' deletes the files later. You can \
            publish the version again.

                castree withdraw 42 /srv/www/updates
                castree withdraw 42 /srv/www/updates --embedded
            """,
        arguments: [
            Argument("VERSION", "the version's name"), .originDirectory,
        ],
        options: [
            .channel,
            .flag("embedded", "send every device back to the version shipped with the app"),
            .noWait, .withoutSync,
        ] + Option.clientSigners + Option.signing + Option.bucket
    ) { try $0.withdraw() }.reportingMissing
}

extension Invocation {
    fileprivate func withdraw() throws -> ExitStatus {
        let (name, origin) = (try VersionName(try version()), argument("ORIGIN"))
        let publisher = try publisher(isWithdrawing: true)
        let commit = try publisher.withdraw(
            name, from: try channel(), toEmbedded: flag("embedded"))
        try warn(commit)
        let pointer = commit.pointer
        let next =
            switch pointer.releases.first?.target {
            case .version(let version)?: "version \(version.name) is offered first"
            case .embedded?: "devices go back to the version shipped with the app"
            case nil: "nothing is offered, and devices keep what they have"
            }
        return try report(
            "Withdrew version \(name) from channel \(pointer.channel) of \(origin); \(next)."
        ) { writer in
            writer.member("version", name.description)
            writer.member("origin", origin)
            writer.member("channel", pointer.channel.description)
            writer.member("sequence", pointer.sequence)
            writer.member("offered", pointer.releases.first?.version?.name.description)
            writer.member("embedded", pointer.releases.first?.target == .embedded)
            pointer.writeSigning(to: &writer)
            write(commit, of: publisher, to: &writer)
        }
    }
}
