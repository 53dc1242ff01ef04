package import Console

/// A program that is installed beside the running one, and does what takes libraries that other commands do without.
///
/// `castree` itself is linked to nothing, so that it starts at once; a program beside it does such work, as with git.
package struct SiblingProgram: Sendable {
    /// Its file name.
    package let name: String
    /// What it does, after "which".
    private let deed: String
    /// The code of the error that it cannot be run.
    private let code: String

    /// Names a program.
    package init(_ name: String, which deed: String, code: String) {
        self.name = name
        self.deed = deed
        self.code = code
    }

    /// The program that speaks to networks.
    package static let pull = SiblingProgram(
        "castree-pull", which: "speaks to networks", code: "noFetchingProgram")
    /// The program that answers the clients of other systems.
    package static let origin = SiblingProgram(
        "castree-origin", which: "answers the clients of other systems", code: "noOriginProgram")
    /// The program that reads archives.
    package static let importing = SiblingProgram(
        "castree-import", which: "reads archives", code: "noImportingProgram")

    /// Replaces the running program by it.
    ///
    /// - Parameter words: its arguments; nil for those of this program.
    /// - Throws: the error that it is not installed beside this one, or cannot be run.
    package func become(_ words: [String]? = nil) throws(CommandError) -> Never {
        let path = try path()
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
    /// - Throws: as ``become(_:)``.
    package func start(
        _ words: [String], hasInput: Bool = true
    ) throws(CommandError) -> ChildProgram {
        let path = try path()
        do throws(SystemError) {
            return try ChildProgram(path, words, hasInput: hasInput)
        } catch {
            throw notRun(path, error)
        }
    }

    private func notRun(_ path: String, _ error: SystemError) -> CommandError {
        CommandError(code: code, message: "\(path) could not be run: \(error.text)")
    }

    /// Where it is installed.
    /// - Throws: the error that it is not.
    package func path() throws(CommandError) -> String {
        if let installed { return installed }
        throw CommandError(
            code: code,
            message:
                "the program \(name), which \(deed), is not installed: it belongs "
                + (Self.directories.isEmpty
                    ? "beside castree" : "in \(Self.directories.joined(separator: " or "))"))
    }

    /// Where it is installed; nil if it is not.
    var installed: String? {
        Self.directories.map { $0 + "/" + name }.first(where: System.isProgram)
    }

    private static var directories: [String] {
        guard let path = System.programPath(), let slash = path.lastIndex(of: "/") else {
            return []
        }
        let directory = String(path[..<slash])
        return [directory, directory + "/../libexec/castree"]
    }
}
