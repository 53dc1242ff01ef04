import CASStore
import Console
import HotPush
import OriginCommands
import S3
import Storage
import StoreCommands
import StrictJSON
import VersionTree

extension Invocation {
    /// `du` of an origin in a bucket.
    /// - Returns: `nil` if these are versions.
    func bucketUsage(of texts: [String]) throws -> ExitStatus? {
        guard let text = texts.first(where: BucketLocation.isOne) else { return nil }
        guard texts.count == 1 else {
            throw CommandError.usage("du takes versions, or one origin by itself")
        }
        let others = ["by", "top", "largest", "retire"]
        if let other = others.first(where: isGiven) {
            throw CommandError.usage("--\(other) is about a store, and '\(text)' is an origin")
        }
        let bucket = try openBucket(try bucketOrigin(text))
        let bar = progress("Listing", unit: .count("keys"))
        defer { bar.finish() }
        let usage = try askedOrigin { () throws(StoreError) in
            try BucketUsage(of: bucket) { bar.report($0) }
        }
        bar.finish()
        return try report { writer in
            writer.member("origin", text)
            usage.writeMembers(to: &writer)
        } text: { output in
            usage.print(to: output, sizes)
        }
    }
}

extension BucketUsage {
    /// What stands in epochs, by who needs it.
    private var parts: [(name: String, figures: FileFigures, meaning: String)] {
        [
            ("offered", offered, "what releases on offer have"),
            ("grace", inGrace, "what devices may still be fetching"),
            ("waiting", waiting, "what no release has; a later prune deletes it"),
            (
                "garbage", garbage.values.reduce(scratch, +),
                "what the next prune deletes"
            ),
        ]
    }

    private var kinds: [(name: String, figures: FileFigures)] {
        [
            ("objects", objects), ("manifests", manifests), ("places", places), ("packs", packs),
            ("deliveries", deliveries), ("deflated", twins), ("facts", facts),
            ("documents", documents), ("log", log), ("pointers", pointers), ("scratch", scratch),
        ]
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("entry", entry)
        writer.member("epoch", epoch)
        for (name, figures, _) in parts { figures.writeMember(name, to: &writer) }
        writer.member("garbageByEpoch", garbage.sorted { $0.key < $1.key }) { writer, one in
            writer.member("epoch", one.key)
            writer.member("files", one.value.count)
            writer.member("bytes", one.value.byteCount)
        }
        for (name, figures) in kinds { figures.writeMember(name, to: &writer) }
        strays.writeMember(to: &writer)
        writer.member("releases", releases) { writer, release in
            writer.member("channel", release.channel.description)
            writer.member("version", release.version.description)
            writer.member("bytes", release.byteCount)
            writer.member("uniqueBytes", release.uniqueByteCount)
        }
        figures.writeMembers(to: &writer)
    }

    fileprivate func print(to output: Output, _ sizes: SizeStyle) {
        var table = TextTable([.left(""), .right("CONTENT"), .right("FILES"), .left("")])
        for (name, figures, meaning) in parts {
            table.add([
                "\(name)", "\(sizes.text(figures.byteCount))", "\(groupedCount(figures.count))",
                "\(meaning)",
            ])
        }
        table.add(["", "", "", ""])
        for (name, figures) in kinds + [("strays", strays.figures)] where figures.count > 0 {
            table.add([
                "\(name)", "\(sizes.text(figures.byteCount))", "\(groupedCount(figures.count))", "",
            ])
        }
        table.print(to: output)
        if let line = strays.line { output.print("\(line)") }
        let epochs = garbage.sorted { $0.key < $1.key }
        if epochs.count > 1 {
            let list = epochs.map { "\(sizes.text($0.value.byteCount)) of epoch \($0.key)" }
            output.print("Garbage: \(list.joined(separator: ", ")).")
        }
        if !releases.isEmpty {
            output.print("")
            var table = TextTable([
                .left("CHANNEL"), .left("VERSION"), .right("SIZE"), .right("UNIQUE"),
            ])
            for release in releases {
                table.add([
                    "\(release.channel.description)", "\(release.version.description)",
                    "\(sizes.text(release.byteCount))", "\(sizes.text(release.uniqueByteCount))",
                ])
            }
            table.print(to: output)
        }
        output.print(
            "Entry \(entry), epoch \(epoch); \(counted(figures.requestCount, "request")).")
    }
}

extension StrayKeys {
    /// Writes the member that tells of them.
    func writeMember(to writer: inout JSONWriter) {
        writer.member("strays") { writer in
            writer.member("files", figures.count)
            writer.member("bytes", figures.byteCount)
            writer.member("keys", keys)
        }
    }

    /// A line for people; `nil` if there are none.
    var line: String? {
        guard figures.count > 0 else { return nil }
        let shown = keys.prefix(10)
        let more = figures.count > shown.count ? " and more" : ""
        return "Not castree's, and never deleted: \(counted(figures.count, "key")), such as "
            + shown.map { printable($0) }.joined(separator: ", ") + more
    }
}

extension FileFigures {
    fileprivate func writeMember(_ name: String, to writer: inout JSONWriter) {
        writer.member(name) { writer in
            writer.member("files", count)
            writer.member("bytes", byteCount)
        }
    }
}
