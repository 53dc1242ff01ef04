import ProgramTestSupport

/// An origin in a directory with the set-group-ID bit, and two publishers of its group with umask 002.
@Suite("An origin that a group shares") struct SharedOriginTests {
    private static let users = ["5001", "5002"]

    /// Runs castree as one of the two, who are in the group 5777.
    private static func run(
        _ user: String, _ words: [String], in directory: URL
    ) throws -> Finished {
        let identity = ["--reuid", user, "--regid", user, "--groups", "5777", "--"]
        let script = ["/bin/sh", "-c", "umask 002; exec \"$@\"", "sh"]
        return try Running(
            URL(filePath: "/usr/bin/setpriv"),
            identity + script + [ProgramUnderTest.castree.url.path] + words, in: directory
        ).finished()
    }

    @Test(
        "lets each of them do with every verb what the other one has begun",
        .needsOtherUser, arguments: [false, true])
    func verbs(_ isSigned: Bool) throws {
        let place = Workplace()
        let base = place.directory
        chmod(base.path, 0o755)
        try FileManager.default.createDirectory(
            at: base.appending(path: "shared"), withIntermediateDirectories: false)
        expect(chown(base.appending(path: "shared").path, 5001, 5777), equals: 0)
        expect(chmod(base.appending(path: "shared").path, 0o2775), equals: 0)
        for user in Self.users {
            // A withdrawal takes the same files back under every name.
            for number in 1...3 {
                try place.write(
                    ["index.html": "\(number) of \(user)"], to: "\(user)/site\(number)")
            }
            expect(chown(base.appending(path: user).path, UInt32(user) ?? 0, 5777), equals: 0)
        }
        func run(_ user: String, _ words: [String], _ status: Int32 = 0) throws {
            let options = words[0] == "prune" ? [] : ["--store", "\(user)/store"]
            let finished = try Self.run(user, words + options, in: base)
            expect(finished.status, equals: status, "\(user): \(words): \(finished)")
        }
        for user in Self.users {
            if isSigned { try run(user, ["key", "new", "\(user)/key"]) }
            for number in 1...3 {
                try run(
                    user, ["add", "\(user)/site\(number)", "--version", "\(user).\(number)"])
            }
        }
        let address = ["--base-url", "https://u.example.org", "--deployment", "P=stable"]
        let (first, second) = (Self.users[0], Self.users[1])
        // What is built upon must be signed by all keys that are named.
        var last = first
        func key(_ user: String) -> [String] {
            defer { last = user }
            let trusted = last == user ? [] : ["--trust", "\(last)/key.pub"]
            return isSigned ? ["--sign-key", "\(user)/key"] + trusted : []
        }
        try run(first, ["publish", "\(first).1", "shared/o"] + key(first))
        if isSigned {
            try run(
                first,
                [
                    "trust", "rotate", "shared/o", "--add", "\(second)/key.pub", "--sign-key",
                    "\(first)/key",
                ])
        }
        for (user, other) in [(second, first), (first, second)] {
            try run(user, ["publish", "\(user).2", "shared/o", "--packs-later"] + key(user))
            try run(user, ["publish", "\(user).3", "shared/o"] + key(user))
            if !isSigned { try run(user, ["origin", "enable", "shared/o", "codepush"] + address) }
            try run(
                user, ["withdraw", "\(other).2", "shared/o"] + key(user), user == second ? 3 : 0)
            try run(user, ["withdraw", "\(user).3", "shared/o"] + key(user))
            try run(user, ["prune", "shared/o", "--grace", "0s"])
            try run(user, ["fsck", "shared/o"])
            try run(user, ["fsck", "shared/o", "--repair"])
        }
    }
}
