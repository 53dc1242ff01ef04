package import Console

/// The program that speaks to networks.
package enum FetchingProgram {
    private static let program = SiblingProgram(
        "castree-pull", which: "speaks to networks", code: "noFetchingProgram")
    private static let castree = SiblingProgram(
        "castree", which: "has all commands", code: "noProgram")

    /// Its file name.
    package static var name: String { program.name }

    /// Replaces the running program by it; see ``SiblingProgram/become(_:)``.
    /// - Throws: `noFetchingProgram` if it is not installed beside this one.
    package static func become(_ words: [String]? = nil) throws(CommandError) -> Never {
        try program.become(words)
    }

    /// Starts it beside the running program; see ``SiblingProgram/start(_:hasInput:)``.
    /// - Throws: `noFetchingProgram`.
    package static func start(
        _ words: [String], hasInput: Bool = true
    ) throws(CommandError) -> ChildProgram {
        try program.start(words, hasInput: hasInput)
    }

    /// How castree-fsck obeys `--from`: this program makes the same repair, and castree that from a directory.
    package static let repairSource: RepairSourceFinder = { invocation, origin in
        let store = invocation.argument("STORE")
        let words = ["--store=\(store)", "fsck", "--repair"] + invocation.givenWords
        let isDirectory = origin.hasPrefix("file:") || !origin.contains("://")
        if isDirectory, castree.installed != nil { try castree.become(words) }
        try become(words)
    }
}
