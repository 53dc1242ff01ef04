import CASStore
import Console
import HotPush
import Origin
import S3
import StoreCommands
import StrictJSON
import VersionTree

// `fsck` of an origin.

extension Invocation {
    func checkOrigin(_ text: String, _ check: CheckOptions) throws -> ExitStatus {
        if ![text, try value("from") ?? ""].contains(where: BucketLocation.isOne) {
            try refuse(Option.bucketAccess, "is for origins in buckets: s3://BUCKET/PREFIX")
        }
        let refused = ["since", "json-lines", "dry-run"]
        if let option = refused.first(where: isGiven) {
            throw CommandError.usage("--\(option) is not for origins")
        }
        if check.sample != nil, !check.isDeep {
            throw CommandError.usage("--sample reads a share of an origin's files: add --deep")
        }
        if isGiven("limit-rate"), !check.isDeep, !isGiven("from") {
            throw CommandError.usage(
                "--limit-rate is about the bytes of an origin's files: add --deep")
        }
        let directory = try checkedDirectory(text)
        let storage = try directory == nil ? openBucket(bucketOrigin(text)) : nil
        let listing = progress("Listing", unit: .count("keys"))
        let bar = progress("Reading")
        defer { bar.finish() }
        var options = OriginAuditOptions()
        options.check = check
        options.isProbing = flag("probe")
        options.isInterrupted = { Interruption.isRequested }
        options.listed = { listing.report($0) }
        options.willRead = { count, byteCount in
            listing.finish()
            guard directory == nil else { return }
            note(
                "reading \(counted(count, "file")), \(sizes.text(byteCount)): one request each, plus traffic"
            )
        }
        options.progress = { bar.report($0, of: $1) }
        let repair = try repair()
        let waitLimit = try duration("wait") ?? PublisherOptions().waitLimit
        let report =
            if let storage {
                try OriginAudit(storage, options, repairingFrom: repair?.mender).run()
            } else {
                try askedOrigin { () throws(StoreError) in
                    try DirectoryAudit(
                        directory ?? "", options, waiting: waitLimit, repairingFrom: repair?.mender,
                        notice: { note($0) }
                    ).run()
                }
            }
        listing.finish()
        bar.finish()
        withExtendedLifetime(repair) {}
        let left = report.findings.count { !$0.isRepaired }
        try show(report, of: text, leftCount: left, isRepairing: repair != nil, check)
        return .ofCheck(problemCount: report.findings.count, leftCount: left)
    }

    /// The directory of an origin; `nil` for one in a bucket.
    /// - Throws: `usage` for an origin on a web server, the pointer of a channel, or options for buckets only.
    private func checkedDirectory(_ text: String) throws -> String? {
        let reference = try origin(text)
        switch reference.location {
        case .bucket: return nil
        case .web:
            throw CommandError.usage(
                "fsck takes an origin in a directory or in a bucket, s3://BUCKET/PREFIX, not '\(text)': run it where the "
                    + "files are")
        case .directory(let path):
            guard reference.channel == nil else {
                throw CommandError.usage(
                    "'\(text)' is the pointer of a channel: name the origin itself")
            }
            if flag("probe") {
                throw CommandError.usage("--probe is for origins in buckets: s3://BUCKET/PREFIX")
            }
            return path
        }
    }

    /// The sources of lost files for a repair: the store, and the origin that `--from` names.
    /// - Returns: `nil` if nothing is repaired.
    private func repair() throws -> (mender: OriginMender, aside: PlanningStore?)? {
        let origin = try value("from")
        guard flag("repair") || origin != nil else { return nil }
        var stores: [VersionStore] = []
        do {
            stores.append(try openStore())
        } catch {
            // A repair of pointers needs no store, and another origin may have the files; but a named store must
            // exist.
            guard .noStore ~= error, !isGiven("store"), environment("CASTREE_STORE") ?? "" == ""
            else { throw error }
        }
        guard let origin else { return (OriginMender(stores), nil) }
        let location = try self.origin(origin).location
        let transport = try repairTransport(to: location)
        try checkSource(origin, over: transport)
        let aside = try PlanningStore(asideFor: self)
        var options = PullOptions()
        options.retries = try retryPolicy()
        let repair = OriginRepair(into: aside.versions, over: transport, options)
        let mender = OriginMender(stores + [aside.versions]) { (lost) throws(StoreError) in
            try repair.restore(lost, of: origin, at: location)
        } reading: { (path, byteCountMax) throws(StoreError) in
            try repair.file(path, byteCountMax: byteCountMax, at: location)
        }
        return (mender, aside)
    }

    /// Refuses a source that is no origin, even if the repair turns out not to need it.
    private func checkSource(_ origin: String, over transport: any Transport) throws {
        let access = OriginAccess(
            over: transport, retries: try retryPolicy(),
            isInterrupted: { Interruption.isRequested })
        do throws(StoreError) {
            _ = try access.pointers(of: origin, countMax: 1)
        } catch {
            // Its files may be good all the same.
            guard error.code == .badPointer else { throw error }
        }
    }

    // MARK: Results

    private func show(
        _ report: OriginAuditReport, of text: String, leftCount: Int, isRepairing: Bool,
        _ check: CheckOptions
    ) throws {
        try self.report { writer in
            writer.member("origin", text)
            report.writeMembers(to: &writer)
            writer.member("sample", orNull: check.sample) { writer, sample in
                writer.key("percent")
                writer.value(.number("\(sample.share * 100)"))
                writer.member("seed", sample.seed)
            }
        } text: { output in
            for finding in report.findings {
                let style: DisplayText.Style = finding.isRepaired ? .yellow : .red
                let place = finding.path.map { "\($0): " } ?? ""
                let suffix = finding.isRepaired ? " (repaired)" : ""
                output.print("\(finding.kind.rawValue, style): \(place)\(finding.message)\(suffix)")
            }
            for line in report.summary(sizes) { output.print("\(line)") }
            guard report.missing == nil else { return }
            let verdict = verdict(problemCount: report.findings.count, leftCount: leftCount)
            let entries =
                report.entryCount == 1 ? "1 entry" : "\(groupedCount(report.entryCount)) entries"
            output.print(
                "Checked \(report.entryCount == 0 ? "" : "\(entries) of the log, ")"
                    + "\(counted(report.channelCount, "channel")) and "
                    + "\(counted(report.releaseCount, "release")): \(verdict).")
            // Each other finding says itself what to do.
            let areMendable = report.findings.contains {
                !$0.isRepaired && $0.kind.isMendable && !$0.hidesFiles
            }
            guard areMendable else { return }
            output.print(
                isRepairing
                    ? "The rest needs a decision, or a --store or --from that has the files."
                    : "'castree fsck \(text) --repair' repairs what can be repaired without guessing."
            )
            guard isRepairing else { return }
            let left = report.findings.filter { !$0.isRepaired }
            if left.contains(where: \.isOfPacks) {
                output.print(
                    "Packs and deliveries: 'castree pack VERSION \(text) --verify' makes them again. Devices do not need them."
                )
            }
            if left.contains(where: \.isForClients) {
                output.print(
                    "Facts, deflated copies and documents: 'castree publish VERSION \(text) --verify' makes them again, also "
                        + "those of an older release than the newest, which is not offered again by that."
                )
            }
            guard left.contains(where: { $0.isOfPacks || $0.isForClients }) else { return }
            output.print(
                "What no channel names any more stays lost, until a 'castree prune \(text)' that comes a grace after the "
                    + "first one forgets it."
            )
        }
    }
}

extension OriginAuditReport {
    fileprivate func summary(_ sizes: SizeStyle) -> [String] {
        var lines: [String] = []
        if entry > 0 {
            lines.append(
                "Entry \(entry), epoch \(epoch): releases need \(text(needed, sizes)); "
                    + "\(text(read, sizes)) read; \(counted(requestCount, "request")).")
        } else if missing == nil {
            lines.append("Releases need \(text(needed, sizes)); \(text(read, sizes)) read.")
        }
        if let missing { lines.append("No origin: \(missing).") }
        if raceCount > 0 { lines.append("Held \(counted(raceCount, "race")) of creators.") }
        if let garbage, let waiting, garbage.count + waiting.count > 0 {
            lines.append(
                "\(text(garbage, sizes)) that no release has may go with the next prune, "
                    + "\(text(waiting, sizes)) with a later one.")
        }
        if let line = strays.line { lines.append(line) }
        return lines
    }

    private func text(_ figures: FileFigures, _ sizes: SizeStyle) -> String {
        "\(counted(figures.count, "file")), \(sizes.text(figures.byteCount))"
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("entry", entry)
        writer.member("epoch", epoch)
        writer.member("entries", entryCount)
        writer.member("channels", channelCount)
        writer.member("releases", releaseCount)
        writer.member("files", needed.count)
        writer.member("bytes", needed.byteCount)
        writer.member("readFiles", read.count)
        writer.member("readBytes", read.byteCount)
        for (name, figures) in [("garbage", garbage), ("waiting", waiting)] {
            writer.member(name, orNull: figures) { writer, figures in
                figures.writeMembers(to: &writer)
            }
        }
        strays.writeMember(to: &writer)
        writer.member("races", raceCount)
        writer.member("findings", findings) { writer, finding in
            writer.member("kind", finding.kind.rawValue)
            writer.member("version", finding.version)
            writer.member("path", finding.path)
            writer.member("message", finding.message)
            writer.member("repaired", finding.isRepaired)
        }
        writer.member("requests", requestCount)
        writer.member("retries", retryCount)
    }
}
