import Console

extension SiblingProgram {
    private static let castree = SiblingProgram(
        "castree", which: "has all commands", code: "noProgram")

    /// How castree-fsck obeys `--from`: castree-pull makes the same repair, and castree that from a directory.
    package static let repairSource: RepairSourceFinder = { invocation, origin in
        let store = invocation.argument("STORE")
        let words = ["--store=\(store)", "fsck", "--repair"] + invocation.givenWords
        let isDirectory = origin.hasPrefix("file:") || !origin.contains("://")
        if isDirectory, castree.installed != nil { try castree.become(words) }
        try pull.become(words)
    }
}
