import ProgramTestSupport

/// The main job, as `make run` shows it: two releases through a store, published, pulled and served.
@Suite struct MainJobTests {
    let place: Workplace
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/run").path

    init() throws { place = Workplace() }

    private func run(_ program: String, _ arguments: String...) throws -> Finished {
        try place.python(
            [Self.script, "--sample"] + arguments, environment: ["CASTREE": program, "CI": "1"])
    }

    @Test func `holds on the sample app, step by step, on one screen`() throws {
        let shown = try run(ProgramUnderTest.castree.url.path, "--no-browser", "demo").ended()
        expect(shown.errors.isEmpty)
        expect(shown.text.split(separator: "\n").count <= 48)
        // Every step, in order.
        var rest = shown.text[...]
        let steps = [
            "1. Two releases", "--version 1.0\n", "--version 2.0\n", "byte for byte",
            "2. The older one", "$ castree publish 1.0", "serve --updates http://127.0.0.1:",
            "version 1.0 is downloaded", "version 1.0 has started", "version 1.0 is confirmed",
            "3. The newer one", "$ castree publish 2.0", "Packed what version 1.0 is missing",
            "version 2.0 is downloaded", "version 2.0 is confirmed", "The update cost",
            "4. A release that does not start", "$ castree publish broken",
            "version broken has started", "version broken was rolled back", "It shows 2.0 again",
            "5. What nobody needs", "$ castree gc", "Deleted ", "retired 1.0, freed",
            "Every SHA-256 is right", "Everything held",
        ]
        for step in steps {
            guard let found = rest.range(of: step) else {
                throw Unexpected("\(step) is missing, or not in its place: \(shown.text)")
            }
            rest = rest[found.upperBound...]
        }
        // What it leaves to be explored.
        for store in ["demo", "demo-kiosk"] {
            try place.checker("check", "--deep", store).ended()
        }
        let listed = try place.castree("--store", "demo-kiosk", "versions", "--json")
        let current = try listed.document(.listed).filter(\.current.isTrue)
        expect(current.map(\.version), equals: ["2.0"])
    }

    @Test func `says so and fails where the program does not do its work`() throws {
        let failed = try run("/bin/true", "demo").ended(1, saying: "scripts/run: stopped: ")
        expect(!failed.errors.contains("Traceback"))
    }

    @Test(arguments: [
        ("publish", "'castree publish 1.0 demo-origin' ended with status 1\n  castree: no space"),
        ("serve", "castree serve did not start: no space"),
    ])
    func `stops with what the program said where a step fails`(_ step: String, _ sentence: String)
        throws
    {
        let program = """
            #!/bin/sh
            case "$*" in *\(step)*) echo "castree: no space" >&2; exit 1 ;; esac
            exec "\(ProgramUnderTest.castree.url.path)" "$@"
            """
        try place.write(["castree": program], to: "bin")
        let path = place.directory.appending(path: "bin/castree").path
        expect(chmod(path, 0o755), equals: 0)
        let failed = try run(path, "--no-browser", "demo").ended(
            1, saying: "scripts/run: stopped: \(sentence)")
        expect(!failed.errors.contains("Traceback"))
    }

    @Test func `leaves a directory alone that it has not made`() throws {
        try place.write(["mine.txt": "precious"], to: "demo")
        try expect(run(ProgramUnderTest.castree.url.path, "demo").status, equals: 1)
        try expect(place.contents("demo/mine.txt"), equals: "precious")
    }
}
