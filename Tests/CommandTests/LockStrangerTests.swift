import ProgramTestSupport

// docs/maintenance.md, "What a finding means": strayFile.
@Suite("What stands in place of a lock of a store") struct LockStrangerTests {
    private static let locks = [
        ".index", ".writer", ".lifecycle", ".server", ".events", ".channels", ".trust", ".start",
        ".pin-abababababababab-1", ".pull-2", ".fetch-" + String(repeating: "f", count: 64),
        "4194000-abababababababab",
    ]
    private static let strangers = ["mkdir", "ln -s nowhere", "mkfifo"]
    /// Damage that a repair mends, perhaps by one of the locks.
    private static let damages = [
        "rm s/current", "ln -sfn versions/1 s/current", "echo x > s/lifecycle.json",
        "rm s/index.sqlite", "chmod 700 s/versions/2",
        "chmod -R u+w s/versions/2; rm -r s/versions/2", "chmod 600 $(find s/objects -type f)",
        "rm $(find s/objects -type f | head -n 1)", "mkdir s/staging/4194000-abababababababab",
        "mkdir s/versions/.2.4194000-abababababababab", "echo x > s/server.json", "rm s/stamp",
    ]

    @Test(
        "goes into quarantine with a repair, which mends whatever else is wrong", arguments: locks)
    func pairs(_ lock: String) throws {
        let place = Workplace(inMemory: true)
        try place.add("1", Release.first, "--activate")
        try place.add("2", Release.second)
        try place.castree("activate", "2")
        try place.castree("fsck")
        func shell(_ script: String) throws { _ = try place.shell(script) }
        try shell("mv .castree sound")
        for damage in Self.damages {
            for stranger in Self.strangers {
                let path = "s/leases/\(lock)"
                try shell(
                    "rm -rf s; cp -a sound s; rm -rf \(path); \(stranger) \(path); \(damage)")
                try place.castree("--store", "s", "fsck").ended(
                    4, in: "\(lock) \(stranger) \(damage)")
                try place.castree("--store", "s", "fsck", "--repair").ended(
                    1, in: "\(lock) \(stranger) \(damage)")
                try place.castree("--store", "s", "fsck").ended(in: "\(lock) \(stranger) \(damage)")
            }
        }
    }
}
