import ProgramTestSupport

extension Workplace {
    /// A place with the versions 1 and 2, of which the origin `site` offers the first.
    static func offeringFirst() throws -> Workplace {
        let place = try Workplace(adding: "1", Release.first)
        try place.add("2", Release.second)
        try place.publish("1")
        return place
    }

    /// Offers a version in `site`.
    func publish(_ arguments: String...) throws {
        try done(words: ["publish"] + arguments + ["site", "--no-sync", "--no-packs"])
    }

    /// Lets the clients of another system be told of a channel.
    func enable(_ system: String, _ deployment: String, of origin: String = "site") throws {
        try done(
            "origin", "enable", origin, system, "--base-url", "http://u.example.org",
            "--deployment", deployment, "--no-sync")
    }

    /// Starts what is to be started, perhaps after another version became current, and confirms it.
    func start(_ version: String? = nil) throws {
        if let version { try done("activate", version) }
        let boot = try boot()
        try done("confirm", boot.version.text, "--token", boot.token.text)
    }

    /// Takes a version back.
    func withdraw(_ version: String) throws {
        try done("withdraw", version, "site", "--no-sync")
    }

    /// Runs castree on the store of the device that is served from `site`.
    @discardableResult
    func device(_ arguments: String...) throws -> Finished {
        try run(.castree, ["--store", "device"] + arguments)
    }

    /// Where things stand on that device.
    func deviceLifecycle() throws -> JSON { try device("lifecycle", "--json").document(.lifecycle) }

    /// Lets the device reject what it is offered: shows it, goes back and bans it.
    func reject(_ version: String) throws {
        try expect(device("activate", version).status, equals: 0)
        try expect(device("rollback").status, equals: 0)
    }

    /// `site` behind a web server.
    func origin() throws -> WebOrigin { try WebOrigin(directory.appending(path: "site")) }

    /// What a channel of `site` says, as devices read it.
    func pointer(_ channel: String = "stable") throws -> [String: Any] {
        let data = Data(try contents("site/channels/\(channel).json").utf8)
        return try require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// A release that a channel of `site` offers, the newest first.
    func release(_ position: Int = 0, of channel: String = "stable") throws -> [String: Any] {
        try require((pointer(channel)["releases"] as? [[String: Any]])?[position])
    }

    func originUsage() throws -> JSON { try castree("du", "site", "--json").document(.originUsage) }
}
