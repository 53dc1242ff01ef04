import CASStore
import Console
import CurlTransport
import HotPush
import StoreCommands
import VersionTree

/// A pull as a command line describes it, before anything is asked: of `castree pull`, and of a server that updates.
struct PullWork {
    let origin: String
    let transport: any Transport
    var options: PullOptions

    func pull(into versions: VersionStore) -> Pull {
        let versions = options.isDryRun ? versions : versions.recordingEvents()
        var options = options
        options.eventLog = options.isDryRun ? nil : EventLog(versions)
        return Pull(into: versions, over: transport, options)
    }
}

/// What a pull found, and what it did.
struct PullOutcome {
    enum Result {
        case planned(DownloadPlan, DeliveryChoice?)
        /// The version is in the store, by this pull or by an earlier one.
        case here(PullReport)
        case nothing
    }

    var result: Result
    var reply: OriginReply
    /// Whether it must be shown at once, also because it replaces a mandatory release that was never shown.
    var isMandatory: Bool
    var lifecycle: Lifecycle
    var requestCount: Int
}

extension Pull {
    /// Plans or fetches what the origin offers, as the options say.
    func outcome(
        of reply: OriginReply, from origin: String
    ) throws(StoreError) -> PullOutcome {
        var reply = reply
        var result = PullOutcome.Result.nothing
        do throws(StoreError) {
            if options.isDryRun {
                result = try planned(reply)
            } else if let report = try carryOut(&reply, of: origin) {
                result = .here(report)
            }
        } catch {
            // A refusal by a bucket looks like a missing file.
            guard error.code == .notFound, let refusal else { throw error }
            throw refusal
        }
        let lifecycle = try versions.lifecycle()
        var isMandatory = reply.isMandatory
        if !options.isDryRun {
            var version: String?
            if case .here(let report) = result { version = report.version }
            let offersNothing =
                !reply.isOlderCopy && (version.map { $0 == lifecycle.current } ?? true)
            if offersNothing, options.destination != .kept {
                try versions.clearPendingForced(lifecycle, offersNothing: true)
            }
            if let version, lifecycle.pending == version {
                isMandatory = try versions.noteForced(version, isMandatory: isMandatory)
            }
        }
        return PullOutcome(
            result: result, reply: reply, isMandatory: isMandatory, lifecycle: lifecycle,
            requestCount: requestCount)
    }

    private func planned(_ reply: OriginReply) throws(StoreError) -> PullOutcome.Result {
        var report: PullReport
        switch reply.answer {
        case .release(let found): return .planned(try plan(found), found.choice)
        case .known(let version):
            try refuseUnshowable(version)
            report = PullReport(version: version)
        case .embedded:
            guard let embedded = try versions.lifecycle().embedded else { return .nothing }
            report = PullReport(version: embedded)
            report.isEmbedded = true
        case .nothing: return .nothing
        }
        report.requests = requestCount
        report.isUnchanged = true
        return .here(report)
    }
}

extension Invocation {
    /// - Throws: `usage`; `transport` if what the requests need is not installed; what finding credentials throws.
    func pullWork() throws -> PullWork {
        let origin = argument("URL")
        // Refused before anything is created.
        let location = try self.origin(origin).location
        try refuseBucketAccess(to: location)
        var connection = try connectionOptions()
        connection.parallelCount = try integer("jobs") ?? connection.parallelCount
        connection.byteRateMax = try byteCount("limit-rate")
        let transport = try transport(to: location, connection)
        return PullWork(origin: origin, transport: transport, options: try pullOptions())
    }

    var retryTeller: @Sendable (Retry) -> Void {
        guard isWatched else { return { _ in } }
        return { note("\($0.reason); trying again in \($0.delay.milliseconds) ms") }
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
        options.expiryGrace = .seconds(try seconds("expiry-grace") ?? 0)
        options.keptGoodCount = try integer("keep-good")
        options.isForced = flag("force")
        options.takesPacks = !flag("no-packs")
        options.isDryRun = flag("dry-run")
        options.retried = retryTeller
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
}
