import Foundation
import ProgramTestSupport
import Testing

/// The main job, as `make run` shows it: two releases through a store, published, pulled and served.
@Suite struct MainJobTests {
    let place: Workplace
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/run").path

    init() throws { place = Workplace() }

    private func run(_ program: String, _ arguments: String...) throws -> Finished {
        let inherited = ProcessInfo.processInfo.environment
        return try Running(
            URL(filePath: "/usr/bin/env"), ["python3", Self.script, "--sample"] + arguments,
            in: place.directory,
            environment: [
                "PATH": inherited["PATH"] ?? "/usr/bin:/bin", "CASTREE": program, "CI": "1",
            ]
        ).finished()
    }

    @Test func `holds on the sample app, step by step`() throws {
        let shown = try run(ProgramUnderTest.castree.url.path, "demo")
        #expect(shown.status == 0, "\(shown)")
        #expect(shown.errors.isEmpty)
        // Every step, in order.
        var rest = shown.text[...]
        let steps = [
            "1. A store", "--version 1.0 --json", "--version 2.0 --json", "$ castree activate 1.0",
            "$ castree activate 2.0", "$ castree diff 1.0 2.0", "$ castree du", "$ diff -r",
            "$ castree retire 1.0", "$ castree gc", "$ castree fsck --deep",
            "$ castree publish 1.0",
            "$ castree pull", "kill -9", "10. A broken release", "12. 2.0 is served",
            "Everything held.",
        ]
        for step in steps {
            guard let found = rest.range(of: step) else {
                Issue.record("\(step) is missing, or not in its place: \(shown.text)")
                return
            }
            rest = rest[found.upperBound...]
        }
        // What it leaves to be explored.
        let checked = try place.checker("check", "--deep", "demo")
        #expect(checked.status == 0, "\(checked)")
        let listed = try place.castree("--store", "demo", "versions", "--json")
        #expect(
            try listed.document([ListedVersion].self).filter(\.current).map(\.version) == ["2.0"])
    }

    @Test func `says so and fails where the program does not do its work`() throws {
        let failed = try run("/bin/true", "demo")
        #expect(failed.status == 1)
        #expect(failed.errors.contains("scripts/run: stopped: "))
        #expect(!failed.errors.contains("Traceback"))
    }

    @Test func `leaves a directory alone that it has not made`() throws {
        try place.write(["mine.txt": "precious"], to: "demo")
        let refused = try run(ProgramUnderTest.castree.url.path, "demo")
        #expect(refused.status == 1)
        #expect(try place.contents("demo/mine.txt") == "precious")
    }
}
