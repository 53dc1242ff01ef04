package import Console

/// The program that speaks to networks.
///
/// `castree` itself is linked without any network library, so that it starts at once; a program
/// beside it does the fetching, as with git.
package enum FetchingProgram {
    /// Its file name.
    package static let name = "castree-pull"

    /// Replaces the running program by it.
    ///
    /// - Parameter words: its arguments; nil for those of this program.
    /// - Throws: `noFetchingProgram` if it is not installed beside this one.
    package static func become(_ words: [String]? = nil) throws(CommandError) -> Never {
        try become(path(), words)
    }

    private static func become(_ path: String, _ words: [String]?) throws(CommandError) -> Never {
        do throws(SystemError) {
            try System.become(path, words)
        } catch {
            throw notRun(path, error)
        }
    }

    /// Starts it beside the running program.
    ///
    /// - Parameters:
    ///   - words: its arguments.
    ///   - hasInput: whether its standard input lasts as long as this process; otherwise it has ended.
    /// - Throws: `noFetchingProgram`.
    package static func start(
        _ words: [String], hasInput: Bool = true
    ) throws(CommandError) -> ChildProgram {
        let path = try path()
        do throws(SystemError) {
            return try ChildProgram(path, words, hasInput: hasInput)
        } catch {
            throw notRun(path, error)
        }
    }

    private static func notRun(_ path: String, _ error: SystemError) -> CommandError {
        CommandError(
            code: "noFetchingProgram", message: "\(path) could not be run: \(error.text)")
    }

    /// Where it is installed.
    ///
    /// - Throws: `noFetchingProgram` if it is not.
    package static func path() throws(CommandError) -> String {
        if let path = installed(name) { return path }
        throw CommandError(
            code: "noFetchingProgram",
            message:
                "the program \(name), which speaks to networks, is not installed: it belongs "
                + "in \(directories().joined(separator: " or "))")
    }

    private static func installed(_ name: String) -> String? {
        directories().map { $0 + "/" + name }.first(where: System.isProgram)
    }

    /// How castree-fsck obeys `--from`: this program makes the same repair, and castree that from a directory.
    package static let repairSource: RepairSourceFinder = { invocation, origin in
        let store = invocation.argument("STORE")
        let words = ["--store=\(store)", "fsck", "--repair"] + invocation.givenWords
        let isDirectory = origin.hasPrefix("file:") || !origin.contains("://")
        if isDirectory, let castree = installed("castree") { try become(castree, words) }
        try become(words)
    }

    private static func directories() -> [String] {
        guard let path = System.programPath(), let slash = path.lastIndex(of: "/") else {
            return []
        }
        let directory = String(path[..<slash])
        return [directory, directory + "/../libexec/castree"]
    }
}
