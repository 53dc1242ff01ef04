import CASStore
import Console
import CurlTransport
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Invocation {
    /// `pull`.
    func pull() throws -> ExitStatus {
        let origin = argument("URL")
        // Refused before anything is created.
        let location = try OriginReference(parsing: origin).location
        let transport = try transport(to: location, transportOptions())
        var options = try pullOptions()
        options.isDryRun = flag("dry-run")
        let planning = flag("dry-run") ? try PlanningStore(self) : nil
        let versions = try planning?.versions ?? openOrCreateStore().recordingEvents()
        let bar = progress("Fetching")
        options.progress = { bar.report($0.bytes, of: $0.bytesTotal) }
        options.retried = retryTeller
        options.journal = flag("dry-run") ? nil : Journal(versions)
        let pull = Pull(into: versions, over: transport, options)
        var reply: OriginReply
        let report: PullReport?
        do {
            defer { bar.finish() }
            reply = try askedOrigin { () throws(StoreError) in try pull.inquire(origin) }
            if options.isDryRun { return try plan(pull, reply) }
            report = try pull.carryOut(&reply, of: origin)
        } catch let error as StoreError {
            // What a bucket refuses looks like what is not there.
            guard error.code == .notFound, let refusal = pull.refusal else { throw error }
            throw refusal
        }
        guard let report else { return try reportNothing(pull, reply) }
        return try show(report, versions)
    }

    private func plan(_ pull: Pull, _ reply: OriginReply) throws -> ExitStatus {
        var report: PullReport
        switch reply.answer {
        case .release(let found):
            return try show(pull.plan(found), found.choice)
        case .known(let version): report = PullReport(version: version)
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
        return try show(report, pull.versions)
    }

    /// Tells each retry to a person who watches.
    var retryTeller: @Sendable (Retry) -> Void {
        guard isWatched else { return { _ in } }
        return { note("\($0.reason); trying again in \($0.delay.milliseconds) ms") }
    }

    // MARK: Options

    private func transportOptions() throws -> TransportOptions {
        var options = try connectionOptions()
        options.parallelCount = try integer("jobs") ?? options.parallelCount
        options.byteRateMax = try byteCount("limit-rate")
        return options
    }

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
        options.isForced = flag("force")
        options.takesPacks = !flag("no-packs")
        if flag("activate"), flag("keep") {
            throw CommandError.usage("--activate and --keep contradict each other")
        }
        if flag("activate") { options.destination = .current }
        if flag("keep") { options.destination = .kept }
        options.retries.failureCountMax = (try integer("retries") ?? 8) + 1
        if isGiven("retries") {
            options.retries.unreachedCountMax = options.retries.failureCountMax
        }
        for trait in values("app") { try set(trait, of: &options.app) }
        return options
    }

    /// Reads `KIND=VALUE`.
    private func set(_ trait: String, of app: inout AppTraits) throws {
        let parts = trait.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let kind = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : ""
        switch kind {
        case "version" where !value.isEmpty: app.version = value
        case "compatibility" where !value.isEmpty: app.compatibility = value
        case "runtimeVersion" where !value.isEmpty: app.runtimeVersion = value
        case "fingerprint" where !value.isEmpty: app.fingerprint = value
        case "group" where !value.isEmpty: app.groups.insert(value)
        case "nativeInterface":
            guard let number = Int64(value) else { fallthrough }
            app.nativeInterface = number
        default:
            throw CommandError.usage(
                "--app takes version=, compatibility=, runtimeVersion=, nativeInterface=, "
                    + "fingerprint= or group= and a value, as in version=2.1.0; not '\(trait)'")
        }
    }

    // MARK: Results

    private func show(_ report: PullReport, _ versions: VersionStore) throws -> ExitStatus {
        let lifecycle = try versions.lifecycle()
        for reason in report.fallbacks {
            note(
                "\(reason); what it was to bring came another way (castree publish --verify mends an origin)"
            )
        }
        for path in report.skipped { note("the origin does not have \(path), which is optional") }
        return try self.report { writer in
            writer.member("version", report.version)
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
        } text: { output in
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
                output.print("It is pending: castree boot switches to it.")
            } else if lifecycle.current == report.version {
                output.print("It is current.")
            }
        }
    }

    private func show(_ plan: DownloadPlan, _ choice: DeliveryChoice?) throws -> ExitStatus {
        let version = plan.release.version.description
        let least = plan.isLowerBound ? "at least " : ""
        let ways = choice?.ways(missing: plan.contents.count, plan.byteCount) ?? []
        return try report { writer in
            writer.member("version", version)
            writer.member("files", plan.release.files.count)
            writer.member("objects", plan.contents.count)
            writer.member("bytes", Int(plan.byteCount))
            writer.member("isLowerBound", plan.isLowerBound)
            writer.member("reusedObjects", plan.reusedObjects)
            writer.member("reusedBytes", Int(plan.reusedBytes))
            writer.member("dryRun", true)
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
                Would pull version \(version): fetch \(counted(plan.contents.count, "object")), \
                \(least)\(sizes.text(plan.byteCount)); \
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
        try report { writer in
            writer.member("version", String?.none)
            writer.member("requests", pull.requestCount)
            writer.member("reasons", reply.reasons)
        } text: { output in
            output.print(
                reply.isOlderCopy
                    ? "The origin's answer is an older copy; nothing was changed."
                    : "The origin offers nothing for this device.")
            for reason in reply.reasons { output.print("  \(reason)") }
        }
        return reply.isOlderCopy ? .olderCopy : .done
    }
}
