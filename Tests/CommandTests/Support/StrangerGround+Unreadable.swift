import ProgramTestSupport

extension StrangerGround {
    /// What a verb cannot do where the disk cannot read a path; nothing else may keep it from its work.
    ///
    /// But `status` says of all that is read at every turn that it cannot be.
    private static let needing: [String: Set<String>] = [
        "lifecycle.json": [
            "versions", "activate", "adopt", "boot", "confirm", "rollback", "gc", "pull", "retire",
            "du", "status",
        ],
        "manifests/1.json": ["show", "cat", "checkout", "publish", "missing"],
        "manifests/2.json": ["activate"],
        "objects/{object}": ["cat", "checkout", "publish"],
        "versions/1/js/app.js": ["cat", "checkout", "publish"],
        "server.json": ["serve", "status"], "trust.json": ["pull", "trust", "status"],
        "channels.json": ["status"], "device.json": ["status"],
        "events.jsonl": ["log", "status"], "events.older.jsonl": ["log", "status"],
    ]

    /// What is not as it must be while the disk cannot read what is at a path of the store; `nil` if there is no file.
    ///
    /// - Parameter turn: which of the verbs is run; all are if it is `nil`.
    func problemsUnreadable(at pattern: String, turn: Int? = nil) throws -> [String]? {
        let path = try resolved(pattern)
        var problems: [String] = []
        var isMissed = false
        let needing = Self.needing[pattern] ?? []
        for verb in turn.map({ [verbs[$0 % verbCount]] }) ?? verbs {
            guard try makeUnreadable(path) else { return nil }
            let finished = try run(verb)
            let isStatusSilent =
                finished.status == 0 && verb.words == ["status"] && needing.contains("status")
            guard finished.status != verb.status || isStatusSilent else { continue }
            isMissed = true
            let needs = path == "FORMAT" || needing.contains(verb.words[0])
            if !needs || isStatusSilent || !Self.documented.contains(finished.status)
                || finished.errors.isEmpty && finished.text.isEmpty
            {
                problems.append("\(verb.words): \(finished.testDescription)")
            }
        }
        _ = try makeUnreadable(path)
        let check = try castree(["fsck"])
        if path == "FORMAT" {
            if check.status != 8 || !check.errors.contains("castree init") {
                problems.append("fsck: \(check.testDescription)")
            }
            return problems
        }
        if ![0, 1, 4].contains(check.status) || isMissed && check.status == 0 {
            problems.append("fsck: \(check.testDescription)")
        }
        let repair = try castree(["fsck", "--repair"])
        let again = try castree(["fsck"])
        // The file is still there, and nobody can read it. What only it had is gone, but version 1 is not needed.
        let left: Int32 = path == "trust.json" ? 4 : 0
        if ![0, 1, 4].contains(repair.status) || again.status != left {
            problems.append("\(repair.testDescription), then \(again.testDescription)")
        }
        return problems
    }

    /// Takes the sound store, and makes the disk fail where it reads a path of it, wherever that file goes.
    ///
    /// - Returns: `false` if there is no file.
    private func makeUnreadable(_ path: String) throws -> Bool {
        try reset(to: "sound")
        // The store is no copy: its index is believed.
        try expect(castree(["versions"]).status, equals: 0)
        var here = stat()
        guard lstat("\(place.directory.path)/s/\(path)", &here) == 0,
            here.st_mode & S_IFMT == S_IFREG
        else { return false }
        environment = [
            "LD_PRELOAD": CallCounter.library.path, "CASTREE_UNREADABLE": "\(here.st_ino)",
        ]
        return true
    }
}
