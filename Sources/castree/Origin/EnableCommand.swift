import CASStore
import ClientSystems
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON

extension Command {
    static let originEnable = Command(
        "origin enable",
        summary: "lets another system's clients update from an origin",
        discussion: """
            Existing clients of CodePush, Expo, hot-updater, Capgo, chcp and Meteor can update \
            from the origin, unchanged. Name the system, the address at which its clients find \
            the server, and the channel they get. The command offers them the current releases at \
            once; from then on publish and withdraw change what they are offered. 'castree origin \
            serve' answers the clients.

                castree origin enable /srv/www/updates codepush --base-url https://u.example.org \\
                    --deployment KEY=stable
                castree origin enable /srv/www/updates expo --base-url https://u.example.org
                castree origin enable /srv/www/updates hot-updater \\
                    --base-url https://u.example.org --deployment ios/production=ios \\
                    --deployment android/production=android

            NAME is what clients send: for CodePush a deployment key; for hot-updater \
            platform/channel; for Capgo app_id or app_id/channel; for Expo the value of \
            expo-channel-name, empty for clients that send none; for chcp and Meteor the name in \
            the URL. Repeating the command changes only the options that you give; NAME= removes \
            a deployment. Until you name a deployment, Expo's clients that send no channel get \
            the channel 'stable', as do chcp's and Meteor's clients that use the name 'stable'. \
            --disable stops the system, but keeps these options and its clients' history in case \
            you enable it again.

            Each object is compressed once for all systems (deflated/). From then on, older \
            versions of castree refuse to publish there. For an origin in a bucket, the \
            compression happens in the store, which fetches the objects it does not have.
            """,
        arguments: [
            .originDirectory,
            Argument(
                "SYSTEM",
                ClientSystem.allCases.sorted().map(\.rawValue).joined(separator: ", "),
                completion: .words { _ in ClientSystem.allCases.map(\.rawValue) }),
        ],
        options: [
            .text(
                "base-url", placeholder: "URL",
                "the server's address for clients, with which all URLs in answers begin"),
            .text(
                "deployment", placeholder: "NAME=CHANNEL",
                "give this channel to clients that send NAME; repeatable", repeats: true),
            .choice(
                "folder", of: ClientConfiguration.folders,
                "the folder in which CodePush's clients keep a release: CodePush (React Native) or "
                    + "www (Cordova)"
            ),
            .integer(
                "history", in: ClientConfiguration.historyCounts,
                "remember this many offers of each channel [default: 200]"),
            .flag("disable", "stop offering releases to its clients"),
            .noWait, .withoutSync,
        ] + Option.clientSigners + Option.signing + Option.bucket
    ) { try $0.enableClients() }.reportingMissing

    static let originStatus = Command(
        "origin status",
        summary: "shows what an origin offers to other systems' clients",
        discussion: """
            Shows the enabled systems, the channels that their clients get, and the ids under \
            which they know each release. If something is damaged, the command says so and ends \
            with status 1: the clients of that system or channel get no answers until it is \
            repaired.

                castree origin status /srv/www/updates
            """,
        arguments: [.originDirectory], options: Option.reachingBucket
    ) { try $0.showClients() }.reportingMissing
}

extension Invocation {
    fileprivate func enableClients() throws -> ExitStatus {
        let system = try clientSystem(argument("SYSTEM"))
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let publisher = try publisher() { bars.report($0) }
        // A stranger's log entry cannot be deleted; the new setting replaces it.
        var isDamaged: StoreError?
        let before = try publisher.clients().replacedConfiguration(of: system) { isDamaged = $0 }
        let announcing = try announcing()
        if flag("disable") {
            let others = ["base-url", "deployment", "folder", "history"]
            if let other = others.first(where: isGiven) {
                throw CommandError.usage("--disable and --\(other) exclude each other")
            }
            let wasEnabled = before?.isEnabled == true || isDamaged != nil
            if wasEnabled { try warn(announcing.disable(system, by: publisher)) }
            return try reportClients(
                ClientStatus.all(in: publisher.clients()), changed: wasEnabled,
                wasEnabled
                    ? "Clients of \(system.rawValue) are offered nothing any more."
                    : "Clients of \(system.rawValue) were offered nothing."
            ) { publisher.figures.writeMembers(to: &$0) }
        }
        if let isDamaged, try value("base-url") == nil { throw isDamaged }
        let configuration = try clientConfiguration(system, before: before)
        let versions = publisher.needsStore ? try openStore() : nil
        let (commit, _) = try announcing.enable(configuration, by: publisher, with: versions)
        bars.finish()
        try warn(commit)
        let changed = before != configuration || !announcing.outcomes.isEmpty || !commit.isUnchanged
        return try reportClients(
            ClientStatus.all(of: system, in: publisher.clients()), changed: changed
        ) {
            write(commit, of: publisher, to: &$0)
        }
    }

    fileprivate func showClients() throws -> ExitStatus {
        let publisher = try publisher(isDraft: true)
        let clients = try publisher.clients()
        var statuses = try ClientStatus.all(in: clients)
        let channels = Set(statuses.flatMap(\.channels).map(\.name))
        for file in try clients.staleFiles(channels) {
            let problem = StoreError(
                .badClients,
                "\(file.path) differs from the log; the next castree publish or castree withdraw rewrites it, and so does castree fsck --repair"
            )
            for place in statuses.indices {
                let status = statuses[place]
                let reads =
                    file.system.map { $0 == status.system.rawValue }
                    ?? file.channel.map { status.channels.map(\.name).contains($0) } ?? true
                if reads { statuses[place].problems.append(problem) }
            }
        }
        let status = try reportClients(statuses) { publisher.figures.writeMembers(to: &$0) }
        return statuses.allSatisfy(\.problems.isEmpty) ? status : .failed
    }

    /// The settings for a system, by the command line and the earlier settings.
    /// - Throws: `usage`.
    private func clientConfiguration(
        _ system: ClientSystem, before: ClientConfiguration?
    ) throws -> ClientConfiguration {
        guard let url = try value("base-url") ?? before?.baseURL else {
            throw CommandError.usage(
                "--base-url says where clients find the server: https://u.example.org")
        }
        var configuration = before ?? ClientConfiguration(system, baseURL: url)
        configuration.baseURL = url
        configuration.isEnabled = true
        if let folder = try value("folder") {
            guard system == .codePush else {
                throw CommandError.usage("--folder is for codepush")
            }
            configuration.folder = folder
        }
        if let count = try integer("history") { configuration.historyCount = count }
        var given: [String: ChannelName?] = [:]
        for text in values("deployment") {
            let (name, channel) = try deployment(text)
            guard given.updateValue(channel, forKey: name).map({ $0 == channel }) ?? true else {
                throw CommandError.usage("--deployment names '\(name)' twice")
            }
            configuration.deployments[name] = channel
        }
        if before == nil, configuration.deployments.isEmpty, let name = system.usualDeployment {
            configuration.deployments = [name: .stable]
        }
        guard !configuration.deployments.isEmpty else {
            throw CommandError.usage(
                "--deployment NAME=CHANNEL says which channel the clients of \(system.rawValue) get"
            )
        }
        if let problem = configuration.problem { throw CommandError.usage(problem) }
        return configuration
    }

    /// A name and its channel; no channel for one that is removed.
    private func deployment(_ text: String) throws -> (String, ChannelName?) {
        // A key may have the sign, too; the name of a channel has none.
        guard let sign = text.lastIndex(of: "=") else {
            throw CommandError.usage("--deployment takes NAME=CHANNEL, not '\(text)'")
        }
        let name = String(text[..<sign])
        let channel = String(text[text.index(after: sign)...])
        if channel.isEmpty { return (name, nil) }
        return (name, try parsed { () throws(StoreError) in try ChannelName(channel) })
    }

    private func reportClients(
        _ statuses: [ClientStatus], changed: Bool? = nil, _ sentence: String? = nil,
        more: (inout JSONWriter) -> Void = { _ in }
    ) throws -> ExitStatus {
        let origin = argument("ORIGIN")
        if changed != nil {
            for channel in Set(statuses.flatMap(\.channels).filter(\.live.isEmpty).map(\.name))
                .sorted()
            {
                note("channel \(channel) of \(origin) offers nothing yet")
            }
        }
        return try report { writer in
            writer.member("origin", origin)
            writer.member("systems", statuses) { writer, status in
                status.writeMembers(to: &writer)
            }
            if let changed { writer.member("changed", changed) }
            more(&writer)
        } text: { output in
            if let sentence { output.print("\(sentence)") }
            if statuses.isEmpty {
                output.print(
                    "\(origin) serves no clients of other systems (castree origin enable).")
            }
            for status in statuses { status.print(to: output) }
        }
    }
}

extension ClientSystem {
    /// The name that clients send by default; `nil` if each app has a name of its own.
    fileprivate var usualDeployment: String? {
        switch self {
        case .expo: ""
        case .chcp, .meteor: "stable"
        case .capgo, .codePush, .hotUpdater: nil
        }
    }
}
