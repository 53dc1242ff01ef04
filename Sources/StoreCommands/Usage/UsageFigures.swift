import CASStore
import Console
package import VersionTree

/// The text output of `du`: the store, its versions, its largest objects.
package struct UsageFigures: Sendable {
    let survey: UsageSurvey
    let rowsMax: Int
    let sizes: SizeStyle

    func print(to output: Output) {
        StoreFigures(usage: survey.store, plainDiskBytes: survey.plainDiskBytes, sizes: sizes)
            .print(to: output)
        if !survey.versions.isEmpty {
            output.print("")
            printVersions(to: output, largestFirst: false)
        }
        if !survey.largest.isEmpty {
            output.print("")
            printLargest(to: output)
        }
    }

    /// Prints a line for each version: newest first, or those first that would free most.
    func printVersions(to output: Output, largestFirst: Bool) {
        var versions = survey.versions
        if largestFirst {
            // Sorting is stable: newest first among equals.
            versions.sort { ($0.disk?.uniqueBytes ?? 0) > ($1.disk?.uniqueBytes ?? 0) }
        }
        print(
            versions, heading: "VERSION", noun: "version", to: output,
            columns: [.right("COPY"), .right("FREES"), .right("SHARED")]
        ) { version in
            let disk = version.disk ?? DiskShare()
            return (
                version.version, role(of: version.version),
                [disk.plainBytes, disk.uniqueBytes, disk.sharedBytes]
            )
        }
        output.print(
            "All but APPARENT is on disk: COPY is what a plain copy takes, FREES what comes back after "
                + "retire and gc, SHARED what others use, too.")
    }

    private func role(of version: String) -> String {
        let lifecycle = survey.lifecycle
        if lifecycle.current == version { return "current" }
        if lifecycle.pending == version { return "pending" }
        if lifecycle.embedded == version { return "embedded" }
        return ""
    }

    func printLargest(to output: Output) {
        var table = TextTable([
            .left("LARGEST OBJECTS"), .right("SIZE"), .right("VERSIONS"), .left("SHOWN AS"),
        ])
        for entry in survey.largest {
            let shown =
                entry.paths.first
                ?? (entry.object.references > 0 ? "a publisher's manifest" : "nothing")
            // If the search for paths was cut short, it found at most one in each version.
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

    func print(_ retirement: Retirement, to output: Output) {
        let names = retirement.versions.joined(separator: ", ")
        let isOne = retirement.versions.count == 1
        output.print(
            "Retiring \(names) would free \(sizes.text(retirement.diskBytes)) on disk: "
                + "\(sizes.text(retirement.bytes)) in \(counted(retirement.objects, "object")), and "
                + (isOne ? "its directories and its manifest." : "their directories and manifests.")
        )
        if !isOne {
            output.print(
                "Each alone would free \(sizes.text(retirement.separateDiskBytes)) in all; what only they "
                    + "share is the rest.")
        }
        for refusal in retirement.refused {
            output.print("Version \(refusal.version) cannot go now: \(refusal.reason).")
        }
    }

    /// - Parameter nameless: what to print for an empty name.
    func print(
        _ usages: [PathUsage], heading: String, nameless: String, to output: Output
    ) {
        print(
            usages, heading: heading, noun: "row", to: output,
            columns: [.right("UNIQUE"), .right("SHARED")]
        ) { usage in
            (
                usage.name.isEmpty ? nameless : usage.name, "",
                [usage.uniqueBytes, usage.sharedBytes]
            )
        }
    }

    private func print<Row: UsageRow>(
        _ rows: [Row], heading: String, noun: String, to output: Output,
        columns more: [TextTable.Column],
        _ cells: (Row) -> (name: String, remark: String, sizes: [Int64])
    ) {
        let hasMissing = rows.contains { $0.missingBytes > 0 }
        var columns: [TextTable.Column] = [.left(heading), .right("FILES"), .right("APPARENT")]
        columns += more
        if hasMissing { columns.append(.right("MISSING")) }
        var table = TextTable(columns + [.left("")])
        for row in rows.prefix(rowsMax) {
            let (name, remark, others) = cells(row)
            let bytes = [row.apparentBytes] + others + (hasMissing ? [row.missingBytes] : [])
            table.add(
                ["\(name)", "\(groupedCount(row.files))"]
                    + bytes.map { "\(sizes.text($0))" } + ["\(remark)"])
        }
        table.print(to: output)
        guard rows.count > rowsMax else { return }
        output.print("\(counted(rows.count - rowsMax, noun)) left out; --top shows more of them")
    }
}

private protocol UsageRow {
    var files: Int { get }
    var apparentBytes: Int64 { get }
    var missingBytes: Int64 { get }
}

extension VersionUsage: UsageRow {}
extension PathUsage: UsageRow {}
