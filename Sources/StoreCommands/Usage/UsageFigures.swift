package import CASStore
package import Console
package import VersionTree

/// What `du` shows as text: the store, its versions, its largest objects.
package struct UsageFigures: Sendable {
    let survey: UsageSurvey
    /// How many rows a table has at most.
    let rowsMax: Int
    let sizes: SizeStyle

    /// Prints everything as tables.
    func print(to output: Output) {
        Self.print(survey.store, to: output, sizes)
        if !survey.versions.isEmpty {
            output.print("")
            printVersions(to: output, largestFirst: false)
        }
        if !survey.largest.isEmpty {
            output.print("")
            printLargest(to: output)
        }
    }

    /// Prints the figures of the store.
    package static func print(_ store: StoreUsage, to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([.left(""), .right(""), .left("")])
        func add(_ name: String, _ bytes: Int64, _ meaning: String) {
            table.add(["\(name)", "\(sizes.text(bytes))", "\(meaning)"])
        }
        add("objects", store.objectBytes, "in " + counted(store.objects, "object"))
        add("versions show", store.apparentBytes, "\(ratioText(store.ratio)) times as much")
        let saved = store.apparentBytes - store.objectBytes + store.unreferencedBytes
        if saved > 0 { add("saved", saved, "compared with plain copies of all versions") }
        add("unreferenced", store.unreferencedBytes, "what gc would free")
        add("staged", store.stagedBytes, "partial objects")
        let executableCopies = store.disk[.executableCopies].apparentBytes
        if executableCopies > 0 {
            add("executables", executableCopies, "executable files, a second time")
        }
        add("on disk", store.diskBytes, "with trees, manifests and index")
        table.print(to: output)
    }

    private static func ratioText(_ ratio: Double) -> String {
        let hundredths = Int((ratio * 100).rounded())
        return "\(hundredths / 100).\(twoDigits(hundredths % 100))"
    }

    /// Prints a line for each version: newest first, or those first that would free most.
    func printVersions(to output: Output, largestFirst: Bool) {
        var versions = survey.versions
        if largestFirst {
            // Sorting is stable: newest first among equals.
            versions.sort { $0.uniqueBytes > $1.uniqueBytes }
        }
        print(versions, heading: "VERSION", noun: "version", to: output) { version in
            (version.version, role(of: version.version))
        }
    }

    private func role(of version: String) -> String {
        let lifecycle = survey.lifecycle
        if lifecycle.current == version { return "current" }
        if lifecycle.pending == version { return "pending" }
        if lifecycle.embedded == version { return "embedded" }
        return ""
    }

    /// Prints the largest objects.
    func printLargest(to output: Output) {
        var table = TextTable([
            .left("LARGEST OBJECTS"), .right("SIZE"), .right("VERSIONS"), .left("SHOWN AS"),
        ])
        for entry in survey.largest {
            let shown =
                entry.paths.first
                ?? (entry.object.references > 0 ? "a publisher's manifest" : "nothing")
            // Where not all paths were looked for, at most one of each version was.
            let others =
                entry.arePathsComplete
                ? entry.paths.count - 1 : max(entry.object.references - 1, entry.paths.count - 1)
            let more = others > 0 && !entry.paths.isEmpty ? " and \(groupedCount(others)) more" : ""
            table.add([
                "\(entry.object.address.shortDescription)", "\(sizes.text(entry.object.byteCount))",
                "\(groupedCount(entry.object.references))", "\(shown + more)",
            ])
        }
        table.print(to: output)
    }

    /// Prints what retiring versions together would free.
    func print(_ retirement: Retirement, to output: Output) {
        let names = retirement.versions.joined(separator: ", ")
        output.print(
            "Retiring \(names) would free \(sizes.text(retirement.bytes)) in "
                + "\(counted(retirement.objects, "object"))"
                + (retirement.versions.count > 1
                    ? ": \(sizes.text(retirement.separateBytes)) that only one of them uses, and "
                        + "\(sizes.text(retirement.bytes - retirement.separateBytes)) that only they share."
                    : "."))
        for refusal in retirement.refused {
            output.print("Version \(refusal.version) cannot go now: \(refusal.reason).")
        }
    }

    /// Prints directories or types.
    ///
    /// - Parameter nameless: what to print for an empty name.
    func print(
        _ usages: [PathUsage], heading: String, nameless: String, to output: Output
    ) {
        print(usages, heading: heading, noun: "row", to: output) { usage in
            (usage.name.isEmpty ? nameless : usage.name, "")
        }
    }

    /// Prints a line for each row, with its name before the figures and a remark behind them.
    private func print<Row: UsageRow>(
        _ rows: [Row], heading: String, noun: String, to output: Output,
        _ words: (Row) -> (name: String, remark: String)
    ) {
        let hasMissing = rows.contains { $0.missingBytes > 0 }
        var columns: [TextTable.Column] = [
            .left(heading), .right("FILES"), .right("APPARENT"), .right("UNIQUE"),
            .right("SHARED"),
        ]
        if hasMissing { columns.append(.right("MISSING")) }
        var table = TextTable(columns + [.left("")])
        for row in rows.prefix(rowsMax) {
            let (name, remark) = words(row)
            var cells: [DisplayText] = [
                "\(name)", "\(groupedCount(row.files))", "\(sizes.text(row.apparentBytes))",
                "\(sizes.text(row.uniqueBytes))", "\(sizes.text(row.sharedBytes))",
            ]
            if hasMissing { cells.append("\(sizes.text(row.missingBytes))") }
            table.add(cells + ["\(remark)"])
        }
        table.print(to: output)
        guard rows.count > rowsMax else { return }
        output.print("\(counted(rows.count - rowsMax, noun)) left out; --top shows more of them")
    }
}

/// What takes space and has a row in a table.
private protocol UsageRow {
    var files: Int { get }
    var apparentBytes: Int64 { get }
    var uniqueBytes: Int64 { get }
    var sharedBytes: Int64 { get }
    var missingBytes: Int64 { get }
}

extension VersionUsage: UsageRow {}
extension PathUsage: UsageRow {}
