import StorageTestSupport

@testable import VersionTree

// The lifecycle as a value: pure transitions.

@Suite struct LifecycleTests {
    private func content(_ text: String) throws -> ObjectID { try address(of: text) }

    @Test func `shows what is activated and forgets that it was pending`() {
        var lifecycle = Lifecycle()
        lifecycle.pending = "2"
        lifecycle.activate("2")
        expect(lifecycle.current, equals: "2")
        expect(lifecycle.pending == nil)
        lifecycle.pending = "3"
        lifecycle.activate("2")
        expect(lifecycle.pending, equals: "3")
    }

    @Test func `no longer waits for the start of another version`() {
        var lifecycle = Lifecycle()
        lifecycle.activate("1")
        lifecycle.boot = .init(version: "1", token: "t", startedAt: 1)
        lifecycle.activate("1")
        expect(lifecycle.boot?.token, equals: "t")
        lifecycle.activate("2")
        expect(lifecycle.boot == nil)
    }

    @Test func `remembers known good versions, each once, newest first, sixteen at most`() {
        var lifecycle = Lifecycle()
        for index in 0..<20 { lifecycle.confirm("\(index)", token: "t") }
        lifecycle.confirm("15", token: "t")
        expect(lifecycle.knownGood.first, equals: "15")
        expect(lifecycle.knownGood.count, equals: 16)
        expect(Set(lifecycle.knownGood).count, equals: 16)
    }

    @Test func `goes back to the newest known good, else to the embedded version`() throws {
        var lifecycle = Lifecycle()
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "1", "2", "3"])) == nil)
        lifecycle.embedded = "0"
        lifecycle.current = "1"
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "1", "2", "3"])), equals: "0")
        lifecycle.current = "0"
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "1", "2", "3"])) == nil)
        lifecycle.current = "3"
        lifecycle.knownGood = ["3", "2", "1"]
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "1", "2", "3"])), equals: "2")
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "1", "3"])), equals: "1")
        try expect(lifecycle.findWayBack(OnlyUsable(["0", "3"])), equals: "0")
    }

    @Test func `bans content, counts the bans, and forgets them when unbanned`() throws {
        var lifecycle = Lifecycle()
        lifecycle.knownGood = ["2", "1"]
        lifecycle.pending = "2"
        lifecycle.ban("2", content: try content("x"), reason: "crashed", at: 10)
        expect(lifecycle.knownGood, equals: ["1"])
        expect(lifecycle.pending == nil)
        lifecycle.ban("3", content: try content("y"), reason: "slow", at: 11)
        lifecycle.ban("2b", content: try content("x"), reason: "again", at: 12)
        expect(lifecycle.bad.map(\.version), equals: ["2b", "3"])
        try expect(lifecycle.ban(of: content("x"))?.count, equals: 2)
        try expect(lifecycle.ban(of: content("x"))?.reason, equals: "again")
        lifecycle.unban(try content("x"))
        expect(lifecycle.bad.map(\.version), equals: ["3"])
    }

    @Test func `needs the current, pending, embedded and last known good version`() {
        var lifecycle = Lifecycle()
        lifecycle.current = "c"
        lifecycle.pending = "p"
        lifecycle.embedded = "e"
        lifecycle.knownGood = ["k"]
        for name in ["c", "p", "e", "k"] { expect(lifecycle.need(of: name) != nil) }
        expect(lifecycle.need(of: "x") == nil)
        lifecycle.knownGood = ["k", "l"]
        expect(lifecycle.need(of: "l") == nil)
        expect(lifecycle.needed, equals: ["c", "p", "e", "k", "l"])
    }

    private func full() throws -> Lifecycle {
        var lifecycle = Lifecycle()
        lifecycle.current = "2.0"
        lifecycle.pending = "3"
        lifecycle.embedded = "1"
        lifecycle.knownGood = ["2.0", "1"]
        lifecycle.ban(
            "bad", content: try content("x"), reason: "say \"no\"\n\u{1b}[31m\u{e9}", at: 12)
        lifecycle.boot = .init(version: "2.0", token: "0123abcd", startedAt: 99)
        lifecycle.confirmed = .init(version: "1", token: "ffff")
        lifecycle.boot?.content = try content("y")
        lifecycle.boot?.system = "a boot"
        lifecycle.boot?.isWatched = true
        lifecycle.before = "1"
        lifecycle.protected.insert("www")
        lifecycle.protected.insert("1")
        lifecycle.attempts = [
            .init(version: "2.0", content: try content("y"), failedAttempts: 1, takenBack: 2)
        ]
        return lifecycle
    }

    @Test func `survives being written and read`() throws {
        var uncounted = try full()
        uncounted.boot?.isUncounted = true
        for lifecycle in [Lifecycle(), try full(), uncounted] {
            let bytes = try lifecycle.serialized()
            try expect(Lifecycle(parsing: bytes), equals: lifecycle)
            try expect(Lifecycle(parsing: bytes).serialized(), equals: bytes)
        }
    }

    @Test func `writes nothing that format 1 did not have where there is nothing to say`() throws {
        let text = String(decoding: try Lifecycle().serialized(), as: UTF8.self)
        for key in ["before", "protected", "trials"] { expect(!text.contains(key), "\(key)") }
    }

    @Test func `carries what a newer castree has written through every change`() throws {
        let text = #"{"format":1,"zoo":{"b":[1.50,null],"a":"x"},"alpha":true,"current":"1"}"#
        var lifecycle = try Lifecycle(parsing: Array(text.utf8))
        lifecycle.activate("2")
        let bytes = try lifecycle.serialized()
        let written = String(decoding: bytes, as: UTF8.self)
        expect(written.contains(#""zoo":{"a":"x","b":[1.50,null]}"#))
        expect(written.contains(#""alpha":true"#))
        // The digest is of these, too: to take one away is an edit.
        try expect(!Lifecycle(parsing: bytes).isEdited)
        let edited = Array(written.replacing(#""alpha":true"#, with: #""alpha":null"#).utf8)
        try expect(Lifecycle(parsing: edited).isEdited)
        try expect(Lifecycle(parsing: edited).serialized(), equals: edited)
    }

    @Test func `keeps what is protected from being retired`() {
        var lifecycle = Lifecycle()
        lifecycle.protected.insert("www")
        expect(lifecycle.need(of: "www"), equals: .protected)
        expect(lifecycle.needed, equals: ["www"])
        lifecycle.protected.remove("www")
        expect(lifecycle.need(of: "www") == nil)
    }

    @Test(arguments: [
        #"{"format":1,"current":".."}"#, #"{"format":1,"current":"../../etc"}"#,
        #"{"format":1,"current":"/etc"}"#, #"{"format":1,"current":""}"#,
        #"{"format":1,"current":1}"#,
        #"{"format":1,"current":".1.123-abc"}"#, #"{"format":1,"pending":"a/b"}"#,
        #"{"format":1,"embedded":["1"]}"#, #"{"format":1,"knownGood":"1"}"#,
        #"{"format":1,"knownGood":["1",null]}"#, #"{"format":1,"knownGood":["../x"]}"#,
        #"{"format":1,"bad":[{}]}"#, #"{"format":1,"bad":{}}"#, #"{"format":1,"boot":"1"}"#,
        #"{"format":1,"boot":{"version":"1"}}"#,
        #"{"format":1,"boot":{"version":"../1","token":"t","startedAt":1}}"#,
        #"{"format":1,"confirmed":{"version":"1"}}"#,
        #"{"format":1,"confirmed":{"version":"1","token":1}}"#,
        #"{"format":1,"before":"../1"}"#, #"{"format":1,"protected":["../1"]}"#,
        #"{"format":1,"protected":"1"}"#, #"{"format":1,"trials":[{"version":"1"}]}"#,
        #"{"format":1,"trials":{}}"#,
        #"{"format":"1"}"#, #"{"format":1.0}"#, #"{"format":0}"#, #"{"format":-1}"#, "{}", "[]",
        "null", "",
        #"{"format":1}{"format":1}"#, #"{"format":1,"format":1}"#,
        #"{"format":1,"current":"1","current":"2"}"#,
        #"{"format":1,"bad":[{"version":"1","content":"xyz","reason":"r","count":1,"at":1}]}"#,
        "\u{feff}{\"format\":1}", "{\"format\":1,\"x\":\"\\ud800\"}",
    ])
    func `refuses a file with hostile or wrong fields`(_ text: String) {
        expectRefusal(.badLifecycle) { try Lifecycle(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [0, -1, 4_000_000_000])
    func `refuses a ban counted wrongly`(_ count: Int) throws {
        let text = """
            {"format":1,"bad":[{"version":"1","content":"\(try content("x"))","reason":"r",\
            "count":\(count),"at":1}]}
            """
        expectRefusal(.badLifecycle) { try Lifecycle(parsing: Array(text.utf8)) }
    }

    @Test func `refuses a newer format by that name`() {
        expectRefusal(.unsupportedFormat) { try Lifecycle(parsing: Array(#"{"format":2}"#.utf8)) }
    }

    @Test func `rolls back to no withdrawn version if there is another`() {
        var lifecycle = Lifecycle()
        (lifecycle.knownGood, lifecycle.embedded, lifecycle.current) = (["1"], "0", "1")
        lifecycle.demote(["1"])
        expect(lifecycle.knownGood == ["1"], "what is shown stays known good")
        lifecycle.activate("2")
        lifecycle.demote(["1"])
        expect(lifecycle.waysBack, equals: ["0"])
        lifecycle.embedded = nil
        (lifecycle.knownGood, lifecycle.before) = (["3", "4"], "3")
        lifecycle.demote(["3", "4"])
        expect(lifecycle.waysBack == ["3", "4", "3"], "there is no other")
        lifecycle.knownGood = ["3", "5", "4"]
        lifecycle.demote(["3", "4"])
        expect(lifecycle.waysBack, equals: ["5"])
    }
}

/// Knows which versions can be shown, and nothing else of them.
private struct OnlyUsable: StartableVersions {
    let usable: Set<String>
    init(_ usable: Set<String>) { self.usable = usable }
    func content(of version: String) -> ObjectID? { nil }
    func isUsable(_ version: String, _ lifecycle: Lifecycle) -> Bool { usable.contains(version) }
}
