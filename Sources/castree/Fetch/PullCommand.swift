import CASStore
import Console
import CurlTransport
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
        let origin = argument("URL")
        // Refused before anything is created.
        let location = try self.origin(origin).location
        try refuseBucketAccess(to: location)
        var connection = try connectionOptions()
        connection.parallelCount = try integer("jobs") ?? connection.parallelCount
        connection.byteRateMax = try byteCount("limit-rate")
        let transport = try transport(to: location, connection)
        var options = try pullOptions()
        options.isDryRun = flag("dry-run")
        let planning = flag("dry-run") ? try PlanningStore(self) : nil
        let store =
            try planning?.versions ?? (flag("no-create") ? openStore() : openOrCreateStore())
        let versions = flag("dry-run") ? store : store.recordingEvents()
        let bar = progress("Fetching")
        options.progress = progressReporter(bar)
        if flag("until-input-ends") { options.isInterrupted = { hasInputEnded() } }
        if flag("json-lines") {
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
        options.retried = retryTeller
        options.journal = flag("dry-run") ? nil : Journal(versions)
        if !isJSON { options.notice = { note("\($0)") } }
        // The parent only tests the command line, or is gone already.
        guard !options.isInterrupted() else {
            throw StoreError(.interrupted, "interrupted; nothing was asked")
        }
        let pull = Pull(into: versions, over: transport, options)
        var reply: OriginReply
        let report: PullReport?
        do {
            defer { bar.finish() }
            reply = try askedOrigin { () throws(StoreError) in try pull.inquire(origin) }
            if options.isDryRun { return try plan(pull, reply) }
            report = try pull.carryOut(&reply, of: origin)
        } catch let error as StoreError {
            // A refusal by a bucket looks like a missing file.
            guard error.code == .notFound, let refusal = pull.refusal else { throw error }
            throw refusal
        }
        let lifecycle = try versions.lifecycle()
        let offersNothing =
            !reply.isOlderCopy && (report.map { $0.version == lifecycle.current } ?? true)
        if offersNothing, options.destination != .kept {
            try versions.settleOwed(lifecycle, offersNothing: true)
        }
        guard let report else { return try reportNothing(pull, reply) }
        var isMandatory = reply.isMandatory
        if lifecycle.pending == report.version {
            isMandatory = try versions.noteForced(report.version, isMandatory: isMandatory)
        }
        return try show(report, lifecycle, reply, isMandatory: isMandatory)
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

    private func plan(_ pull: Pull, _ reply: OriginReply) throws -> ExitStatus {
        var report: PullReport
        switch reply.answer {
        case .release(let found):
            return try show(pull.plan(found), found.choice, reply)
        case .known(let version):
            try pull.refuseUnshowable(version)
            report = PullReport(version: version)
        case .embedded:
            guard let embedded = try pull.versions.lifecycle().embedded else {
                return try reportNothing(pull, reply)
            }
            report = PullReport(version: embedded)
            report.isEmbedded = true
        case .nothing: return try reportNothing(pull, reply)
        }
        report.requests = pull.requestCount
        report.isUnchanged = true
        return try show(report, pull.versions.lifecycle(), reply, isMandatory: reply.isMandatory)
    }

    var retryTeller: @Sendable (Retry) -> Void {
        guard isWatched else { return { _ in } }
        return { note("\($0.reason); trying again in \($0.delay.milliseconds) ms") }
    }

    // MARK: Options

    private func pullOptions() throws -> PullOptions {
        var options = PullOptions()
        let format = try requiredValue("format")
        options.format = format == "auto" ? nil : format
        options.channel = try requiredValue("channel")
        options.release = try value("release")
        options.version = try value("version")
        try parsed { () throws(StoreError) in
            _ = try ChannelName(options.channel)
            for name in [options.release, options.version] {
                if let name { _ = try VersionName(name) }
            }
        }
        options.platform = try value("platform")
        options.device = try value("device")
        options.entryCountMax = try integer("max-entries") ?? options.entryCountMax
        options.expiryGrace = try seconds("expiry-grace") ?? 0
        options.keptGoodCount = try integer("keep-good")
        options.isForced = flag("force")
        options.takesPacks = !flag("no-packs")
        try setDestination(&options)
        options.retries = try retryPolicy()
        options.app = try appTraits()
        if let problem = options.app.problemOfVersion {
            diagnostics.warn(code: "noVersion", problem)
        }
        return options
    }

    private func setDestination(_ options: inout PullOptions) throws(CommandError) {
        let given =
            ["activate", "keep"].filter { flag($0) } + (isGiven("switch") ? ["switch"] : [])
        if given.count > 1 {
            throw .usage("--\(given[0]) and --\(given[1]) contradict each other")
        }
        let isNow = try requiredValue("switch") == "now"
        if isNow || flag("activate") { options.destination = .current }
        if flag("keep") { options.destination = .kept }
    }

    // MARK: Results

    private func show(
        _ report: PullReport, _ lifecycle: Lifecycle, _ reply: OriginReply, isMandatory: Bool
    ) throws -> ExitStatus {
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
        return pack.base == nil
            ? "a pack of everything: \(size)" : "a pack from what is here: \(size)"
    }

    private func reportNothing(_ pull: Pull, _ reply: OriginReply) throws -> ExitStatus {
        let status = try reported { writer in
            writer.member("version", String?.none)
            writer.member("requests", pull.requestCount)
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
