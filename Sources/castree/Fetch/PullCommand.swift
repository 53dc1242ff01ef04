import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import Synchronization
import VersionTree

extension Invocation {
    func pull() throws -> ExitStatus {
        do {
            return try pulled()
        } catch let error as StoreError {
            throw CommandError(pulling: error)
        }
    }

    private func pulled() throws -> ExitStatus {
        var work = try pullWork()
        let planning = work.options.isDryRun ? try PlanningStore(self) : nil
        let store =
            try planning?.versions ?? (flag("no-create") ? openStore() : openOrCreateStore())
        let bar = progress("Fetching")
        work.options.progress = progressReporter(bar)
        if flag("json-lines") { reportFindings(in: &work.options) }
        if !isJSON { work.options.notice = { note("\($0)") } }
        let pull = work.pull(into: store)
        let outcome: PullOutcome
        do {
            defer { bar.finish() }
            let reply = try askedOrigin { () throws(StoreError) in try pull.inquire(work.origin) }
            outcome = try pull.outcome(of: reply, from: work.origin)
        }
        switch outcome.result {
        case .planned(let plan, let choice): return try show(plan, choice, outcome.reply)
        case .here(let report): return try show(report, outcome)
        case .nothing: return try reportNothing(outcome)
        }
    }

    private func reportFindings(in options: inout PullOptions) {
        options.offered = { version, isMandatory in
            line { writer in
                writer.member("offer") { writer in
                    writer.member("version", version)
                    writer.member("mandatory", isMandatory)
                }
            }
        }
        options.withdrawn = { withdrawal in
            line { writer in writer.member("withdrawn") { withdrawal.write(to: &$0) } }
        }
    }

    private func progressReporter(_ bar: ProgressBar) -> @Sendable (UpdateProgress) -> Void {
        guard flag("json-lines") else { return { bar.report($0.bytes, of: $0.bytesTotal) } }
        let toldAt = Mutex<SuspendingClock.Instant?>(nil)
        return { progress in
            let now = SuspendingClock.now
            let isDue = toldAt.withLock { last in
                if let last, now - last < .milliseconds(500) { return false }
                last = now
                return true
            }
            guard isDue else { return }
            line { writer in
                writer.member("progress") { writer in
                    writer.member("bytes", Int(progress.bytes))
                    writer.member("bytesTotal", Int(progress.bytesTotal))
                }
            }
        }
    }

    /// Prints the result: with `--json-lines` as the last line, else as `report` does.
    private func reported(
        _ members: (inout JSONWriter) throws -> Void, text: (Output) throws -> Void
    ) throws -> ExitStatus {
        guard flag("json-lines"), !isJSON else { return try report(members: members, text: text) }
        var writer = JSONWriter()
        try writer.object(members)
        try output.write(json: writer.drain())
        try output.flush()
        return .done
    }

    // MARK: Results

    private func show(_ report: PullReport, _ outcome: PullOutcome) throws -> ExitStatus {
        let (lifecycle, reply) = (outcome.lifecycle, outcome.reply)
        let isMandatory = outcome.isMandatory
        let remedy =
            if !report.damagedBases.isEmpty {
                " (castree fsck --from URL repairs the store)"
            } else {
                report.hasWrongPack ? " (castree publish --verify repairs an origin)" : ""
            }
        for reason in report.fallbacks {
            note("\(reason); its content came another way\(remedy)")
        }
        for path in report.skipped { note("the origin does not have \(path), which is optional") }
        let waits = isMandatory && lifecycle.pending == report.version
        let status = try reported { writer in
            writer.member("version", report.version)
            writer.member("mandatory", isMandatory)
            writer.member("files", report.files)
            writer.member("objects", report.figures.files)
            writer.member("bytes", Int(report.figures.bytes))
            writer.member("reusedObjects", report.reusedObjects)
            writer.member("reusedBytes", Int(report.figures.reusedBytes))
            writer.member("resumedBytes", Int(report.figures.resumedBytes))
            writer.member("requests", report.requests)
            writer.member("unchanged", report.isUnchanged)
            writer.member("current", lifecycle.current == report.version)
            writer.member("pending", lifecycle.pending == report.version)
            writer.member("embedded", report.isEmbedded)
            writer.member("skipped", report.skipped)
            writer.member("fallbacks", report.fallbacks)
            writer.member("signedBy", reply.signers)
            writer.writePassedOver(reply)
        } text: { output in
            for release in reply.passedOver { output.print("\(release.sentence).") }
            if report.isEmbedded {
                output.print(
                    """
                    The origin sends devices back to the version shipped with the app: \
                    \(report.version).
                    """)
            } else if report.isUnchanged {
                output.print("The store already has version \(report.version).")
            } else {
                let fetched = counted(report.figures.files, "object")
                let requests = counted(report.requests, "request")
                output.print(
                    """
                    Pulled version \(report.version): \(counted(report.files, "file")); fetched \
                    \(fetched), \(sizes.text(report.figures.bytes)), in \(requests).
                    """)
                output.print(
                    "  already here: \(counted(report.reusedObjects, "object")), "
                        + "\(sizes.text(report.figures.reusedBytes))")
                if report.figures.resumedBytes > 0 {
                    output.print(
                        "  kept from an interrupted pull: \(sizes.text(report.figures.resumedBytes))"
                    )
                }
            }
            if lifecycle.pending == report.version {
                let remark = waits ? ", and mandatory" : ""
                output.print("It is pending\(remark): castree boot switches to it.")
            } else if lifecycle.current == report.version {
                output.print("It is current.")
            }
        }
        return waits ? .mandatoryWaits : status
    }

    private func show(
        _ plan: DownloadPlan, _ choice: DeliveryChoice?, _ reply: OriginReply
    ) throws -> ExitStatus {
        let version = plan.release.version.description
        let size =
            plan.isLowerBound && plan.byteCount == 0
            ? " of unknown size"
            : (plan.isLowerBound ? ", at least " : ", ") + sizes.text(plan.byteCount)
        let ways = choice?.ways(missing: plan.contents.count, plan.byteCount) ?? []
        return try reported { writer in
            writer.member("version", version)
            writer.member("mandatory", reply.isMandatory)
            writer.member("files", plan.release.files.count)
            writer.member("objects", plan.contents.count)
            writer.member("bytes", Int(plan.byteCount))
            writer.member("isLowerBound", plan.isLowerBound)
            writer.member("reusedObjects", plan.reusedObjects)
            writer.member("reusedBytes", Int(plan.reusedBytes))
            writer.member("dryRun", true)
            writer.member("signedBy", reply.signers)
            writer.member("ways", ways) { writer, way in
                writer.member("way", way.name)
                writer.member("pack", way.pack?.address.description)
                writer.member("from", way.pack?.base?.description)
                writer.key("codecs")
                writer.array(way.pack?.codecs ?? []) { $0.integer($1) }
                writer.member("bytes", way.byteCount)
                writer.member("requests", way.requestCount)
                writer.member("cost", way.cost)
            }
        } text: { output in
            output.print(
                """
                Would pull version \(version): fetch \(counted(plan.contents.count, "object"))\(size); \
                already here: \(counted(plan.reusedObjects, "object")), \
                \(sizes.text(plan.reusedBytes)).
                """)
            for (position, way) in ways.enumerated() {
                output.print("  \(position == 0 ? "by" : "or by") \(text(way))")
            }
        }
    }

    private func text(_ way: DeliveryChoice.Way) -> String {
        let size = "\(sizes.text(way.byteCount)) in \(counted(Int(way.requestCount), "request"))"
        guard let pack = way.pack else { return "its objects one by one: \(size)" }
        if way.isByRanges { return "parts of a pack of everything: about \(size)" }
        let deltas = pack.codecs.contains(Int64(PackCodec.delta.rawValue)) ? " with deltas" : ""
        return pack.base == nil
            ? "a pack of everything: \(size)" : "a pack from what is here\(deltas): \(size)"
    }

    private func reportNothing(_ outcome: PullOutcome) throws -> ExitStatus {
        let reply = outcome.reply
        let status = try reported { writer in
            writer.member("version", String?.none)
            writer.member("requests", outcome.requestCount)
            writer.member("reasons", reply.reasons)
            writer.member("signedBy", reply.signers)
            writer.member("skipped", reply.passedOver.map(\.version))
            writer.writePassedOver(reply)
        } text: { output in
            output.print(
                reply.isOlderCopy
                    ? "The origin's answer is an older copy; nothing was changed."
                    : "The origin offers nothing for this device.")
            for reason in reply.reasons { output.print("  \(reason)") }
        }
        return reply.isOlderCopy ? .olderCopy : status
    }
}

extension JSONWriter {
    fileprivate mutating func writePassedOver(_ reply: OriginReply) {
        member("passedOver", reply.passedOver) { writer, release in
            writer.member("version", release.version)
            writer.member("perMille", release.perMille)
        }
    }
}

extension CommandError {
    /// An error of a pull; unreachable origins and banned releases have their own status, so that cron need not
    /// alarm.
    fileprivate init(pulling error: StoreError) {
        let status: ExitStatus? =
            switch (error.code, error.transferKind) {
            case (.bannedVersion, _): .banned
            case (.mismatch, _), (.damagedOrigin, _), (.untrusted, _), (.badTrust, _),
                (_, .security):
                .untrusted
            case (_, .resolve), (_, .connect), (_, .timeout), (_, .broken): .offline
            default: nil
            }
        self.init(error, status)
    }
}

extension Command {
    static let pull = Command(
        "pull", summary: "fetches a version, downloading only what is missing",
        discussion: """
            URL is an origin made by castree publish (on a web server, in a directory, or in a \
            bucket, as s3://BUCKET/PREFIX), or a Meteor server. Content that any version in the \
            store has is not fetched again, whatever its path. Every byte is verified. The version \
            appears once it is complete, in one step, and is pending until the next boot.

            If the origin has packs, one pack delivers everything, compressed and as the difference \
            from a version in the store. If anything is wrong with a pack, its content is fetched \
            object by object. --dry-run shows the alternatives and their costs.

                castree pull https://example.org/app
                castree pull https://example.org/app --channel beta --activate
                castree pull https://example.org/app --release 41 --keep
                castree pull https://example.org/app --dry-run

            Requests to s3:// are signed, so the bucket may be private. castree finds keys and \
            endpoint as AWS's tools do.

                castree pull s3://updates/app --endpoint https://s3.example.org

            If a stale cache or mirror sends an older pointer of a channel, nothing changes and \
            the exit status is 21. --force accepts the older pointer, unless releases must be \
            signed.

            After 'castree trust add' the store accepts only signed releases from that origin. \
            Anything else changes nothing, and the exit status is 22.

            If a mandatory release is pending afterwards, the status is 25: start the app again \
            soon. Status 23 means that the origin cannot be reached, 20 that the release is banned \
            here.

            If the command is interrupted, killed or cut off, repeat it. It continues where it \
            stopped, even within a file. A missing store is created.
            """,
        arguments: [
            Argument(
                "URL", "the origin's URL or directory, or s3://BUCKET/PREFIX",
                completion: .directories)
        ],
        options: Option.pulling + Option.reaching + Option.device,
        statuses: .pull
    ) { pull in
        try pull.leavingNoEmptyStore { try pull.pull() }
    }
}

extension Option {
    fileprivate static let pulling: [Option] = [
        .choice(
            "format", of: ["auto", "castree", "meteor", "8fit"],
            "the format of the origin", fallback: "auto"),
        .text(
            "channel", placeholder: "NAME", "the channel of a castree origin",
            fallback: "stable"),
        .text(
            "release", placeholder: "NAME", "fetch this release instead of the channel's newest"),
        .text("version", placeholder: "NAME", "the version's name in the store"),
        .flag("activate", "make the version current once it is complete"),
        .flag("keep", "keep the version without making it current or pending"),
        .integer(
            "keep-good", in: 1...1000,
            "if there is no space, retire a pending version that was never shown, and all others "
                + "but the newest N that proved good"),
        .choice(
            "switch", of: ["now", "next-start"],
            "when to show the version: now (as --activate) or next-start; not with --activate or --keep",
            fallback: "next-start"),
        .flag(
            "dry-run", "print what would be fetched; fetch no content and change nothing"),
        .flag("no-packs", "fetch objects one by one, even if the origin has packs"),
        .integer(
            "jobs", in: 1...256, "fetch this many files from a server at once", fallback: 16
        ),
        .text(
            "limit-rate", placeholder: "BYTES",
            "read at most this many bytes a second, even from a directory; K, M and G are "
                + "powers of 1024"),
        .text(
            "expiry-grace", placeholder: "TIME",
            "accept a signature for this long after it has expired",
            fallback: "0s"),
        .integer(
            "max-entries", in: 1...4_000_000,
            "refuse a version with more entries than this, before they exhaust memory",
            fallback: 250_000),
        .flag(
            "json-lines",
            "print findings and progress, one JSON document per line; the last is the result"
        ),
        .flag("no-create", "if there is no store, create none and end with status 3"),
    ]

    static let device: [Option] = [
        .text(
            "device", placeholder: "ID",
            "the device's identity, which decides whether a roll-out reaches it; never in reports "
                + "[default: a random one kept in the store]"
        ),
        .text(
            "app", placeholder: "KIND=VALUE",
            "describe this app: version=, compatibility=, runtimeVersion=, nativeInterface=, "
                + "fingerprint=; group= for each group of the device",
            repeats: true,
            completion: .fixed(
                "version=", "compatibility=", "runtimeVersion=", "nativeInterface=",
                "fingerprint=", "group=")),
        .text(
            "group", placeholder: "NAME",
            "a group that the device is in; the same as --app group=NAME",
            repeats: true),
        .text("platform", placeholder: "NAME", "the app's platform, such as ios"),
        .flag(
            "force",
            "accept a version that is banned, not rolled out to this device or unsuitable, and an older pointer"
        ),
    ]
}
