import CASStore
import Console
import HotPush
import Origin
import Storage
import StoreCommands
import StrictJSON
import VersionTree

extension Invocation {
    /// `du` of an origin: what uses its space, and what its packs save a device.
    /// - Returns: `nil` if the texts name versions.
    func originUsage(of texts: [String]) throws -> ExitStatus? {
        for text in texts {
            let location: OriginLocation?
            do {
                location = try origin(text).location
            } catch let error as CommandError {
                throw error
            } catch {
                // A text that names no origin may be a version's.
                location = nil
            }
            let bar = progress("Listing", unit: .count("keys"))
            defer { bar.finish() }
            let usage: OriginUsage
            switch location {
            case nil: continue
            case .web:
                throw CommandError.usage(
                    "du takes versions, or an origin's directory on this machine, not '\(text)'; "
                        + "castree channels URL shows what a server offers")
            case .bucket:
                try checkAlone(text, among: texts)
                let storage = try openBucket(bucketOrigin(text))
                usage = try askedOrigin { () throws(StoreError) in
                    try OriginUsage(of: storage) { bar.report($0) }
                }
            case .directory(let path):
                do throws(StoreError) {
                    usage = try OriginUsage(ofDirectory: path, notice: { note($0) }) {
                        bar.report($0)
                    }
                } catch {
                    guard error.code == .noOrigin else { throw error }
                    // No version has such a name.
                    guard text.contains("/") else { continue }
                    throw CommandError(
                        StoreError(
                            .noOrigin,
                            "\(error.message); du takes versions of the store, or the directory of an origin"
                        ),
                        .notFound)
                }
                try checkAlone(text, among: texts)
                try refuse(Option.reachingBucket, "is for origins in buckets: s3://BUCKET/PREFIX")
            }
            bar.finish()
            return try report { writer in
                writer.member("origin", text)
                usage.writeMembers(to: &writer)
            } text: { output in
                usage.print(to: output, sizes)
            }
        }
        return nil
    }

    /// Refuses versions and options for stores beside an origin.
    private func checkAlone(_ text: String, among texts: [String]) throws {
        guard texts.count == 1 else {
            throw CommandError.usage(
                "du takes versions, or one origin alone; '\(text)' is an origin")
        }
        let others = ["html", "by", "top", "largest", "retire"]
        if let other = others.first(where: { isDeclared($0) && isGiven($0) }) {
            throw CommandError.usage("--\(other) is about a store, and '\(text)' is an origin")
        }
    }
}

extension OriginUsage {
    /// The files in generations (`epoch`), by what needs them.
    private var parts: [(name: String, figures: FileFigures, meaning: String)] {
        [
            ("offered", offered, "files of offered releases"),
            ("grace", inGrace, "files that devices may still be fetching"),
            ("waiting", waiting, "files of no release; a later prune deletes them"),
            (
                "garbage", garbage.values.reduce(self[.scratch], +),
                "files that the next prune may delete"
            ),
        ]
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("entry", entry)
        writer.member("epoch", epoch)
        for (name, figures, _) in parts { figures.writeMember(name, to: &writer) }
        writer.member("garbageByEpoch", garbage.sorted { $0.key < $1.key }) { writer, one in
            writer.member("epoch", one.key)
            one.value.writeMembers(to: &writer)
        }
        for kind in Kind.allCases { self[kind].writeMember(kind.rawValue, to: &writer) }
        strays.writeMember(to: &writer)
        writer.member("releases", releases) { writer, release in
            writer.member("channel", release.channel.description)
            writer.member("version", release.version.description)
            writer.member("bytes", release.byteCount)
            writer.member("uniqueBytes", release.uniqueByteCount)
        }
        writer.member("channels", pointers) { writer, pointer in
            writer.member("channel", pointer.channel.description)
            pointer.writeSigning(to: &writer, verified: [])
            writer.member("releases", pointer.releases) { writer, release in
                writer.member("version", release.version?.name.description)
                writer.member("packs", entries(of: release, in: pointer)) { writer, entry in
                    entry.writeMembers(to: &writer)
                }
            }
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
        let kinds = Kind.allCases.map { ($0.rawValue, self[$0]) } + [("strays", strays.figures)]
        for (name, figures) in kinds where figures.count > 0 {
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
        for pointer in pointers {
            if let signing = pointer.signingText(verified: []) {
                output.print("\(pointer.channel): \(signing)")
            }
            for release in pointer.releases {
                for entry in entries(of: release, in: pointer) {
                    let name = release.version?.name.description ?? ""
                    output.print(
                        "\(pointer.channel): \(entry.sentence(to: name) { sizes.text($0) })")
                }
            }
        }
        guard entry > 0 else { return }
        output.print(
            "Entry \(entry), epoch \(epoch); \(counted(figures.requestCount, "request")).")
    }
}

extension StrayKeys {
    func writeMember(to writer: inout JSONWriter) {
        writer.member("strays") { writer in
            figures.writeMembers(to: &writer)
            writer.member("keys", keys)
        }
    }

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
        writer.member(name) { writeMembers(to: &$0) }
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("files", count)
        writer.member("bytes", byteCount)
    }
}

extension StorageFigures {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("requests", requestCount)
        writer.member("retries", retryCount)
    }
}
