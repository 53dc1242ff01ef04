import Console
import Platform
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let versions = Command(
        "versions", summary: "lists the versions, newest first",
        discussion: """
            '*' marks the current version. UNIQUE is what retiring a version would free.

            To print only the names, for a script:
                castree versions --json | jq -r '.[].version'
            """
    ) { invocation in
        let summaries = try invocation.openStore().versions()
        return try invocation.reportDocument { writer in
            writer.objects(summaries) { writer, summary in summary.writeMembers(to: &writer) }
        } text: { output in
            guard !summaries.isEmpty else {
                output.print("There is no version yet; castree add makes one.")
                return
            }
            summaries.print(to: output, invocation.sizes)
        }
    }
}

extension VersionSummary {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("state", state.rawValue)
        writer.member("files", files)
        writer.member("bytes", bytes)
        writer.member("uniqueBytes", uniqueBytes)
        writer.member("missingObjects", missingObjects)
        writer.member("createdAt", timestamp(createdAt))
        writer.member("current", isCurrent)
        writer.member("pending", isPending)
        writer.member("knownGood", isKnownGood)
        writer.member("bad", isBad)
        writer.member("embedded", isEmbedded)
        writer.member("protected", isProtected)
    }

    private var remarks: DisplayText {
        var words: [DisplayText] = []
        if missingObjects > 0 {
            words.append("\("is missing \(counted(missingObjects, "object"))", .red)")
        }
        if isPending { words.append("\("pending", .yellow)") }
        if isKnownGood { words.append("\("known good", .green)") }
        if isBad { words.append("\("bad", .red)") }
        if isEmbedded { words.append("embedded") }
        if isProtected { words.append("protected") }
        return words.dropFirst().reduce(words.first ?? "") { "\($0), \($1)" }
    }

    fileprivate func cells(_ sizes: SizeStyle) -> [DisplayText] {
        [
            isCurrent ? "\("*", .green)" : "", isCurrent ? "\(version, .bold)" : "\(version)",
            "\(state.rawValue)", "\(groupedCount(files))", "\(sizes.text(bytes))",
            "\(sizes.text(uniqueBytes))", "\(timestamp(createdAt))", remarks,
        ]
    }
}

extension [VersionSummary] {
    func print(to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([
            .left(""), .left("VERSION"), .left("STATE"), .right("FILES"), .right("SIZE"),
            .right("UNIQUE"), .left("CREATED"), .left(""),
        ])
        for summary in self { table.add(summary.cells(sizes)) }
        table.print(to: output)
    }
}
