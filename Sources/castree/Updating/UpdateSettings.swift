import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

/// How a server keeps its app up to date, as its command line says.
struct UpdateSettings {
    /// The command line of the server.
    var server: Invocation
    /// The path of its store.
    var store: String
    var origin: String
    var interval: Duration
    var policy: SwitchPolicy
    var keptGoodCount: Int
    var channel: String
    /// Further options of the pulls.
    var words: [String]

    /// Excludes servers that ask another origin; nil if the store cannot be written, so that nothing is fetched
    /// either.
    /// - Throws: `.locked` if there is such a server.
    func hold(_ versions: VersionStore) throws(StoreError) -> SharedHold? {
        do throws(StoreError) {
            return try SharedHold(
                updatesFrom: try OriginReference(parsing: origin), channel: channel, versions)
        } catch {
            if error.code == .locked { throw error }
            return nil
        }
    }
}

extension Option {
    static let updating: [Option] =
        [
            .text(
                "updates", placeholder: "ORIGIN",
                "update from this origin: pull its releases, switch to them, roll back if no page "
                    + "confirms, and clean up"
            ),
            .text(
                "every", placeholder: "TIME", "ask the origin this often",
                fallback: "15m"),
            .text(
                "switch", placeholder: "WHEN",
                "when pages get a new version: now, next-navigation, next-start (of this server), "
                    + "background:TIME (once no page has been visible for this long)",
                fallback: "next-navigation",
                completion: .fixed("now", "next-navigation", "next-start", "background:")),
            .integer(
                "keep-good", in: 1...1000,
                "keep this many versions that proved good, including the current one",
                fallback: 2),
            .text(
                "channel", placeholder: "NAME", "the channel of a castree origin",
                fallback: "stable"),
            // A server describes device and app by the options of a pull, except --force, which is for a person.
        ] + Option.device.filter { $0.name != "force" } + [
            .text(
                "pull-option", placeholder: "OPTION",
                "pass this option to castree pull, such as --cacert=ca.pem", repeats: true,
                completion: .words { _ in
                    // A word that ends in `=` wants a value.
                    Command.pull.options
                        .filter { !Invocation.ownNames.contains($0.name) }
                        .map { "--\($0.name)" + ($0.takesValue ? "=" : "") }
                })
        ]
}

extension Invocation {
    func updateSettings() throws(CommandError) -> UpdateSettings? {
        guard let origin = try value("updates") else {
            let names = Option.updating.map(\.name).filter { $0 != "updates" }
            if let needless = names.first(where: isGiven) {
                throw .usage("--\(needless) is for --updates ORIGIN, which is not given")
            }
            return nil
        }
        try parsed { () throws(StoreError) in
            _ = try OriginReference(parsing: origin)
        }
        let channel = try requiredValue("channel")
        try parsed { () throws(StoreError) in _ = try ChannelName(channel) }
        // Every pull would refuse it, and be noticed too late.
        _ = try appTraits()
        guard let seconds = try seconds("every"), seconds > 0 else {
            throw .usage("--every takes a time of a second or more, as in 15m")
        }
        return UpdateSettings(
            server: self, store: try storePath(), origin: origin, interval: .seconds(seconds),
            policy: try switchPolicy(),
            keptGoodCount: try integer("keep-good") ?? 2, channel: channel, words: try pullWords())
    }

    private func switchPolicy() throws(CommandError) -> SwitchPolicy {
        let text = try requiredValue("switch")
        switch text {
        case "now": return .now
        case "next-navigation": return .nextNavigation
        case "next-start": return .nextStart
        default:
            let parts = text.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "background",
                let seconds = Self.seconds(String(parts[1])), seconds > 0
            else {
                throw .usage(
                    "--switch takes now, next-navigation, next-start or background:TIME, as in "
                        + "background:5m; not '\(text)'")
            }
            return .background(.seconds(seconds))
        }
    }

    private func pullWords() throws(CommandError) -> [String] {
        var words = [
            "--channel=\(try requiredValue("channel"))",
            "--keep-good=\(try integer("keep-good") ?? 2)",
        ]
        for option in Option.updating
        where Option.device.contains(where: { $0.name == option.name }) {
            words += values(option.name).map { "--\(option.name)=\($0)" }
        }
        let pull = Command.pull
        for word in values("pull-option") {
            let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? ""
            let option = pull.options.first { "--\($0.name)" == name }
            guard let option, !Self.ownNames.contains(option.name),
                option.takesValue == word.contains("=")
            else {
                // What follows may be secret.
                let shown = word.hasPrefix("--") ? word.prefix { $0 != "=" && $0 != " " } : "…"
                throw .usage(
                    "--pull-option takes an option of castree pull in one word, as in "
                        + "--pull-option --cacert=ca.pem; not '\(shown)'")
            }
            words.append(word)
        }
        return words
    }

    /// The options that the server itself sets or decides.
    fileprivate static let ownNames: Set<String> = Set(
        [
            "activate", "keep", "keep-good", "switch", "dry-run", "force", "json-lines",
            "no-create", "release", "version", "channel",
        ] + Option.device.map(\.name))
}
