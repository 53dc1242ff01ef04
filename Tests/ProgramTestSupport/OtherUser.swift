// Another user, who is not root: only root can be two users, by setpriv(1).

extension Trait where Self == ConditionTrait {
    /// For what somebody else does here.
    package static var needsOtherUser: Self {
        .enabled(if: Workplace.hasOtherUser, "needs root and setpriv(1), to be somebody else")
    }

    /// For what cannot be tried here for a reason, if there is one.
    package static func disabled(for reason: String?) -> Self {
        .disabled(if: reason != nil, "\(reason ?? "")")
    }
}

extension Workplace {
    /// A user to whom no file belongs.
    package static let nobody: UInt32 = 65534

    /// The words that run a program as a user who is in one group alone.
    package static func words(as user: UInt32) -> [String] {
        ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"]
    }

    /// Whether programs stand where other users may look, and can be run as one.
    fileprivate static let hasOtherUser: Bool = {
        let tried = try? Workplace().castree(as: nobody, ["--version"])
        return geteuid() == 0 && tried?.status == 0
    }()

    @discardableResult
    package func castree(as user: UInt32, _ words: [String]) throws -> Finished {
        try run(Self.words(as: user) + [ProgramUnderTest.castree.url.path] + words)
    }

    /// Runs a program here, by its path.
    @discardableResult
    package func run(_ words: [String], environment: [String: String] = [:]) throws -> Finished {
        try Running(
            URL(filePath: words[0]), Array(words.dropFirst()), in: directory,
            environment: environment
        ).finished()
    }

    /// Runs Python here.
    package func python(_ words: [String], environment: [String: String] = [:]) throws -> Finished {
        let path = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
        return try run(
            ["/usr/bin/env", "python3"] + words, environment: path.merging(environment) { $1 })
    }

    /// Runs a script here in which `root`, `own` and `other` run castree on a store: the last two are users of one group.
    @discardableResult
    package func script(_ script: String, store: String = "s") throws -> Finished {
        let castree = "'\(ProgramUnderTest.castree.url.path)' --store \(store) \"$@\""
        let head = [("own", Self.nobody), ("other", Self.nobody - 1)].map { name, user in
            "\(name)() { setpriv --reuid=\(user) --regid=\(Self.nobody) --clear-groups -- \(castree); }\n"
        }
        return try shell(head.joined() + "root() { \(castree); }\n" + script)
    }

    /// What lstat(2) says of a path.
    package func fileStatus(_ path: String) throws -> stat {
        var status = stat()
        let full = path.hasPrefix("/") ? path : "\(directory.path)/\(path)"
        try require(lstat(full, &status) == 0, "\(path)")
        return status
    }
}
