import CASStore
import ClientSystems
import Console
import HotPush
import Origin
import StoreCommands

extension Option {
    static let clientSigners: [Option] = [
        .text(
            "client-key", placeholder: "SYSTEM=FILE",
            "sign that system's offers with the RSA key in this file; repeatable",
            repeats: true, completion: .files),
        .text(
            "client-sign-command", placeholder: "SYSTEM=COMMAND",
            "sign these offers with this command, which reads the bytes on standard input and prints their "
                + "signature in base64; repeatable",
            repeats: true),
    ]

    static let announcedSystems = Option.text(
        "for", placeholder: "SYSTEMS",
        "offer it only to these enabled systems, separated by commas [default: all]",
        completion: .words { _ in ClientSystem.allCases.map(\.rawValue) })

    static let patching: [Option] = [
        .flag(
            "no-patches",
            "make no patches for the clients of Expo and hot-updater; keep existing ones"),
        .text(
            "embedded-patches", placeholder: "PLATFORM/ID=FILE",
            "make patches also from the bundle that Expo apps were shipped with: the id in their app.manifest, and the "
                + "bundle; clients of before September 2026 then fetch patch and bundle; repeatable",
            repeats: true, completion: .files),
    ]

    static let announcing =
        clientSigners + [
            announcedSystems,
            .flag(
                "strict", "publish nothing if the version cannot be offered to an enabled system"),
        ]
}

extension Invocation {
    /// How the command line wants other systems' clients to be told what the origin offers.
    /// - Throws: `usage`; what reading keys throws.
    func announcing() throws -> ClientAnnouncing {
        var announcing = ClientAnnouncing()
        if isDeclared(Option.announcedSystems.name),
            let text = try value(Option.announcedSystems.name)
        {
            announcing.systems = []
            for name in text.split(separator: ",", omittingEmptySubsequences: false) {
                announcing.systems?.insert(try clientSystem(String(name)))
            }
        }
        announcing.isUrgent = command.name == "withdraw"
        announcing.isStrict = isSet("strict")
        announcing.adoptsKeys = isSet("adopt")
        announcing.warn = PublisherOptions.once { [diagnostics] in
            diagnostics.warn(code: "notExpressible", $0)
        }
        if isDeclared("no-patches") { announcing.patches = try patching() }
        if isDeclared("packs-later") { announcing.delaysPatches = flag("packs-later") }
        guard isDeclared("client-key") else { return announcing }
        for text in values("client-key") {
            let (system, file) = try ofSystem(text, "client-key", "FILE")
            try add(RSASigningKey(file: file), of: system, to: &announcing)
        }
        let limit = try duration("sign-timeout") ?? .seconds(60)
        for text in values("client-sign-command") {
            let (system, command) = try ofSystem(text, "client-sign-command", "COMMAND")
            try add(
                SigningProgram.signing(for: system, by: command, within: limit), of: system,
                to: &announcing)
        }
        return announcing
    }

    private func patching() throws -> PatchAnnouncing? {
        let texts = values("embedded-patches")
        guard !flag("no-patches") else {
            guard texts.isEmpty else {
                throw CommandError.usage("--no-patches and --embedded-patches exclude each other")
            }
            return nil
        }
        return PatchAnnouncing(
            from: try texts.map { text in
                let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
                let name = parts.first?.split(separator: "/").map(String.init) ?? []
                guard parts.count == 2, name.count == 2 else {
                    throw CommandError.usage(
                        "--embedded-patches takes PLATFORM/ID=FILE, not '\(text)'")
                }
                return try ShippedScript(platform: name[0], id: name[1], file: parts[1])
            })
    }

    private func add(
        _ signer: some ClientSigner, of system: ClientSystem, to announcing: inout ClientAnnouncing
    ) throws(CommandError) {
        guard [.codePush, .expo, .hotUpdater].contains(system) else {
            throw .usage("the clients of \(system.rawValue) check no signatures")
        }
        guard announcing.signers[system] == nil else {
            throw .usage("two keys are given for \(system.rawValue), whose clients know only one")
        }
        announcing.signers[system] = signer
    }

    private func ofSystem(
        _ text: String, _ option: String, _ placeholder: String
    ) throws(CommandError) -> (ClientSystem, String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else {
            throw .usage("--\(option) takes SYSTEM=\(placeholder), not '\(text)'")
        }
        return (try clientSystem(String(parts[0])), String(parts[1]))
    }

    func clientSystem(_ name: String) throws(CommandError) -> ClientSystem {
        guard let system = ClientSystem(rawValue: name) else {
            let known = ClientSystem.allCases.sorted().map(\.rawValue).joined(separator: ", ")
            throw .usage("castree does not know the system '\(name)': it knows \(known)")
        }
        return system
    }
}
