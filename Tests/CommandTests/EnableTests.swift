import ProgramTestSupport

/// What `castree origin enable` and its options take, before anybody is told anything.
@Suite struct EnableTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.done("publish", "1", "site", "--no-packs", "--no-sync", "--json")
    }

    private static let url = ["--base-url", "https://u.example.org"]

    @Test func `origin enable refuses what makes no sense, with the reason`() throws {
        let key = ["--deployment", "KEY=stable"]
        let cases: [(arguments: [String], status: Int32, words: String)] = [
            (["site", "pushy"] + Self.url, 2, "codepush, expo, hot-updater, meteor"),
            (["site", "codepush"] + key, 2, "--base-url says where clients find the server"),
            (["site", "codepush"] + Self.url, 2, "--deployment NAME=CHANNEL says which channel"),
            (["site", "codepush", "--deployment", "KEY"] + Self.url, 2, "takes NAME=CHANNEL"),
            (["site", "codepush", "--deployment", "K=Stable"] + Self.url, 2, "Stable"),
            (
                ["site", "codepush", "--deployment", "K=config"] + Self.url, 2,
                "choose another name"
            ),
            (
                ["site", "chcp", "--deployment", "my app=stable"] + Self.url, 2,
                "of letters, digits and -._~, and not \"my app\""
            ),
            (["site", "codepush", "--base-url", "u.example.org"] + key, 2, "http:// or https://"),
            (["site", "codepush", "--base-url", "https://"] + key, 2, "a host"),
            (["site", "codepush", "--deployment", "=stable"] + Self.url, 2, "has a name"),
            (["site", "capgo", "--deployment", "=stable"] + Self.url, 2, "has a name"),
            (["site", "meteor", "--deployment", "a/b=stable"] + Self.url, 2, "one part of a path"),
            (["site", "meteor", "--deployment", "=stable"] + Self.url, 2, "one part of a path"),
            (
                ["site", "hot-updater", "--deployment", "production=stable"] + Self.url, 2,
                "ios/CHANNEL or android/CHANNEL"
            ),
            (
                ["site", "hot-updater", "--deployment", "web/production=stable"] + Self.url, 2,
                "web/production"
            ),
            (
                ["site", "codepush", "--deployment", "KEY=beta"] + Self.url + key, 2,
                "names 'KEY' twice"
            ),
            (["site", "expo", "--folder", "www"] + Self.url, 2, "--folder is for codepush"),
            (["site", "codepush", "--history", "0"] + Self.url + key, 2, "history"),
            (["site", "codepush", "--disable"] + key, 2, "exclude each other"),
            (["site", "codepush", "--jobs", "4"] + Self.url + key, 2, "for origins in buckets"),
            (["site", "expo", "--client-key", "key.pem"] + Self.url, 2, "takes SYSTEM=FILE"),
            (
                ["site", "expo", "--client-sign-command", "pushy=x"] + Self.url, 2,
                "does not know the system"
            ),
            (["site", "capgo", "--client-sign-command", "capgo=x"] + Self.url, 2, "no signatures"),
            (["none", "expo"] + Self.url, 3, "there is no origin in none"),
        ]
        let before = try place.contents("site/origin.json")
        for (arguments, status, words) in cases {
            try place.ended(status, words: ["origin", "enable"] + arguments, saying: words)
        }
        try expect(place.contents("site/origin.json"), equals: before)
        expect(!place.exists("site/for") && !place.exists("site/facts"))
    }

    @Test func `origin status says that nobody is told anything`() throws {
        let document = try place.run(
            .castree, ["origin", "status", "site", "--json"]
        ).document(["origin": "text", "systems": ["text"]])
        expect(document.origin == "site" && document.systems.isEmpty)
        let text = try place.castree("origin", "status", "site").text
        expect(text, equals: "site serves no clients of other systems (castree origin enable).\n")
        let ended = try place.castree("origin", "enable", "site", "expo", "--disable").text
        expect(ended.hasPrefix("Clients of expo were offered nothing.\n"))
        try expect(place.run(.castree, ["origin", "status", "none"]).status, equals: 3)
        // Who mistypes a channel sees it at once.
        let mistyped = try place.run(
            .castree,
            ["origin", "enable", "site", "chcp", "--deployment", "main=stabel"] + Self.url
        ).text
        expect(mistyped.contains("  channel stabel: there is none of that name yet\n"))
    }

    @Test func `a system that is enabled again has the settings that it had`() throws {
        let enable = ["origin", "enable", "site", "codepush"]
        let options = ["--deployment", "KEY=stable", "--folder", "www", "--history", "9"]
        let first = try place.run(.castree, enable + options + Self.url)
        try place.run(.castree, enable + ["--disable"]).ended()
        let unchanged = try place.run(.castree, enable + ["--disable"]).ended().text
        expect(unchanged.hasPrefix("Clients of codepush were offered nothing.\n"))
        let again = try place.run(.castree, enable)
        expect(first.status == 0 && first.text == again.text, "\(again)")
        // The objects are in the directory already.
        expect(!(first.errors + again.errors).contains("fetching"), "\(first)")
        let configuration = try place.contents("site/for/codepush/config.json")
        for setting in [#""folder":"www""#, #""historyCount":9"#, "u.example.org"] {
            expect(configuration.contains(setting), "\(configuration)")
        }
    }

    @Test func `of a release that clients do not get nothing is said of those who get it`() throws {
        try place.castree("origin", "enable", "site", "chcp", Self.url[0], Self.url[1])
        try place.add("2", Release.second)
        let told = try place.run(
            .castree,
            ["publish", "2", "site", "--no-packs", "--require", "appVersionRange=^1.0.0"])
        expect(told.errors.contains("version 2 is not offered to the clients of chcp"), "\(told)")
        expect(!told.errors.contains("gets it from chcp"), "\(told)")
    }

    @Test func `origin status names documents by what they have`() throws {
        try place.castree("origin", "enable", "site", "expo", Self.url[0], Self.url[1])
        try place.castree("withdraw", "1", "site", "--embedded", "--no-sync")
        let text = try place.castree("origin", "status", "site").text
        expect(text.hasSuffix("    the embedded version: offered\n"), "\(text)")
    }

    @Test func `publish --for wants systems that are told of the channel`() throws {
        try place.add("2", Release.second)
        for (systems, words) in [
            ("expo", "castree origin enable site expo --base-url URL --deployment NAME=stable"),
            ("expo,pushy", "does not know the system 'pushy'"), ("", "--for takes SYSTEMS"),
        ] {
            let answer = try place.run(
                .castree, ["publish", "2", "site", "--no-packs", "--for", systems])
            expect(answer.status != 0 && answer.errors.contains(words), "\(answer)")
        }
        try expect(
            place.contents("site/channels/stable.json").contains("\"version\":\"2\""), equals: false
        )
    }

    @Test(
        "origin enable notes what that system cannot be told, by version, and channels without releases"
    )
    func notes() throws {
        // The first system of an origin, and the second.
        let meteor = try place.run(.castree, ["origin", "enable", "site", "meteor"] + Self.url)
        expect(
            meteor.errors.contains(
                "version 1 is not offered to the clients of meteor: Meteor's clients cannot run"))
        let expo = try place.run(.castree, ["origin", "enable", "site", "expo"] + Self.url)
        expect(
            expo.errors.contains(
                "version 1 is not offered to the clients of expo: Expo's clients cannot run"))
        expect(!expo.errors.contains("meteor"), "\(expo)")
        let hotUpdater = try place.run(
            .castree,
            ["origin", "enable", "site", "hot-updater", "--deployment", "ios/production=stable"]
                + ["--deployment", "android/production=typo"] + Self.url)
        expect(hotUpdater.errors.contains("channel typo of site offers nothing yet"))
        expect(!hotUpdater.errors.contains("channel stable of"), "\(hotUpdater)")
        // The ids are those of the offer: its manifest is for every app.
        expect(hotUpdater.text.contains("    1: id "), "\(hotUpdater)")
        expect(!hotUpdater.text.contains("runtime version"), "\(hotUpdater)")
    }
}
