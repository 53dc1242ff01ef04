import ProgramTestSupport

// docs/maintenance.md, "What stays".
@Suite("A protected version") struct ProtectTests {
    /// A shell, and two releases that came after it.
    private func prepared() throws -> Workplace {
        let place = Workplace()
        try place.add("www", ["index.html": "the shell", "cordova.js": "shell()"])
        try place.add("1", ["index.html": "one"])
        try place.add("2", ["index.html": "two"])
        return place
    }

    private func versions(_ place: Workplace) throws -> [String] {
        try place.listed().map(\.version.text)
    }

    @Test func `stays through every clean-up, and a shell can be served from it`() throws {
        let place = try prepared()
        try expect(place.castree("protect", "www").text, equals: "Version www is protected now.\n")
        try expect(
            place.castree("protect", "www").text, equals: "Version www is protected already.\n")
        for policy in [["--keep", "1"], ["--older-than", "0s"], ["--max-size", "1"]] {
            try place.done("gc", words: policy)
        }
        try expect(versions(place).contains("www"))
        try place.castree("activate", "2")
        let served = try Served(place, ["--shell", "www"])
        try expect(served.get("/cordova.js").body, equals: "shell()")
        // It was protected before: there is nothing to say.
        try expect(served.end().errors, equals: "")
    }

    @Test("is what serve --shell makes of its version, which it says once, and which lasts")
    func shell() throws {
        let place = try prepared()
        try place.castree("activate", "2")
        let said = "version www is protected from now on"
        try expect(Served(place, ["--shell", "www"]).end().errors.contains(said))
        try expect(!Served(place, ["--shell", "www"]).end().errors.contains(said))
        try place.done("gc", "--keep", "0")
        try expect(versions(place), equals: ["2", "www"])
        try expect(Served(place, ["--shell", "www"]).get("/cordova.js").body, equals: "shell()")
    }

    @Test func `is not retired by name, until it is unprotected`() throws {
        let place = try prepared()
        try place.castree("protect", "www")
        let refused = try place.ended(1, "retire", "www")
        expect(
            refused.errors,
            equals: "castree: version www cannot be retired: it is protected; "
                + "unprotect it first (castree unprotect www)\n")
        try expect(
            place.castree("unprotect", "www").text, equals: "Version www is no longer protected.\n"
        )
        try place.done("retire", "www")
        try expect(place.castree("unprotect", "www").status, equals: 3)
        try expect(place.castree("protect", "nothing").status, equals: 3)
        // Unprotecting does not help what is current.
        try place.castree("activate", "2")
        try place.castree("protect", "2")
        let current = try place.castree("retire", "2").errors
        expect(current.hasSuffix("it is the current version; activate another one first\n"))
    }

    @Test func `is shown as such`() throws {
        let place = try prepared()
        try expect(
            place.castree("protect", "1", "--json").text,
            equals: #"{"version":"1","protected":true}"#
                + "\n")
        try expect(place.listed().filter(\.protected.isTrue).map(\.version), equals: ["1"])
        try expect(place.castree("versions").text.contains("protected"))
        try expect(
            place.castree("lifecycle", "--json").document(.lifecycle).protected, equals: ["1"])
        try expect(place.castree("lifecycle").text.contains("protected"))
        let plan = try place.castree("gc", "--dry-run", "--keep", "1").text
        expect(plan.contains("it is protected"), "\(plan)")
    }

    @Test(
        "may keep a store above its limit, which is a warning that names it",
        arguments: [false, true])
    func limit(_ isDryRun: Bool) throws {
        let place = try prepared()
        try place.castree("activate", "2")
        try place.castree("protect", "www")
        let words = ["gc", "--max-size", "1"] + (isDryRun ? ["--dry-run"] : [])
        let finished = try place.done(words: words)
        expect(finished.errors.contains("more than 1 B"), "\(finished)")
        expect(finished.errors.contains("www (it is protected)"), "\(finished)")
        expect(finished.errors.contains("2 (it is current)"), "\(finished)")
    }
}
