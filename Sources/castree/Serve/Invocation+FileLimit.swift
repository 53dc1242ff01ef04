import Console
import WebServer

extension Invocation {
    /// Raises the limit of open files for a server; call this before anything is opened.
    ///
    /// With too few descriptors Swift's runtime ends the program while it serves, or connections are accepted and not
    /// answered.
    /// - Throws: `CommandError` with the code `fewFiles` if fewer are allowed than a server is known to work with.
    func requireFiles() throws {
        FileLimit.raise()
        // For each thread that serves an epoll and a waker; for a pull its store and its connections.
        let isPulling = isDeclared("updates") && isGiven("updates")
        let jobs = isPulling ? values("pull-option").compactMap(Self.jobCount).last ?? 16 : 0
        let needed =
            62 + 2 * (try integer("workers") ?? 1)
            + (isPulling ? max(64, 48 + min(jobs, 1 << 20)) : 0)
        guard FileLimit.current < needed else { return }
        throw CommandError(
            code: "fewFiles",
            message:
                "unable to start a server: it may have \(FileLimit.current) open files and needs \(needed): raise the "
                + "limit (LimitNOFILE= of its unit, ulimit -n) and repeat the command")
    }

    private static func jobCount(_ word: String) -> Int? {
        let name = "--jobs="
        return word.hasPrefix(name) ? Int(word.dropFirst(name.count)) : nil
    }
}
