public import CASStore
internal import Synchronization
internal import VersionTree

// Work over the network.

extension UpdateManager {
    /// Asks the origin, and decides about its answer; downloads nothing.
    ///
    /// Overlapping calls share one request.
    ///
    /// - Throws: what the source throws; `.interrupted` if it was cancelled.
    public func check() async throws(StoreError) -> UpdateCheck {
        try await share(\.checking) { await $0.makeCheck() }
    }

    /// Computes what an update would cost now, before a byte of it is fetched.
    ///
    /// - Returns: `nil` if there is nothing to download.
    /// - Throws: what the source throws.
    public func plan() async throws(StoreError) -> UpdateCost? {
        let check = try await check()
        guard let release = check.release, check.decision == .download else { return nil }
        let cost = try await source.plan(release)
        eventLog.record(.planned(version: release.version.description, cost: cost))
        return cost
    }

    /// Brings the app up to date: checks, downloads, and switches if the policy says so.
    ///
    /// Overlapping calls share one update; a release that is published during a download is left to the next update, so
    /// that two alternating releases cannot starve each other. Cancelling the only waiting task, or ``cancel()``, stops
    /// it; the next update continues from what has arrived.
    ///
    /// - Throws: what the source throws; `.interrupted`; `.bannedVersion` if the fetched content is banned. The app
    ///   continues with its current version.
    @discardableResult
    public func update() async throws(StoreError) -> UpdateOutcome {
        try await share(\.updating) { await $0.makeUpdate() }
    }

    /// Joins the work in progress of the same method, or begins it.
    private func share<Success>(
        _ flight: any WritableKeyPath<Flights, Flight<Success>?> & Sendable,
        _ work: @escaping @Sendable (UpdateManager) async -> Result<Success, StoreError>
    ) async throws(StoreError) -> Success {
        while let under = flights[keyPath: flight], under.isCancelled { _ = await under.task.value }
        if flights[keyPath: flight] == nil {
            flights.count += 1
            let task = Task {
                let outcome = await work(self)
                self.flights[keyPath: flight] = nil
                return outcome
            }
            flights[keyPath: flight] = Flight(number: flights.count, task: task)
        }
        guard let under = flights[keyPath: flight] else { preconditionFailure("it was just begun") }
        flights[keyPath: flight]?.waiterCount += 1
        return try await withTaskCancellationHandler {
            await under.task.value
        } onCancel: {
            Task { await self.leave(flight, under.number) }
        }.get()
    }

    private func leave<Success>(
        _ flight: any WritableKeyPath<Flights, Flight<Success>?> & Sendable, _ number: Int
    ) {
        flights[keyPath: flight]?.leave(number)
    }

    /// Stops the work in progress; content that has arrived is kept.
    public func cancel() {
        flights.updating?.cancel()
        flights.checking?.cancel()
    }

    // MARK: Checking

    private func makeCheck() async -> Result<UpdateCheck, StoreError> {
        if state == .idle { state = .checking }
        defer { if state == .checking { state = .idle } }
        tell(.checking)
        do throws(StoreError) {
            let release = try await source.check()
            guard let release else {
                let reason = "the origin has nothing new"
                eventLog.record(
                    .checked(
                        origin: source.origin, outcome: .nothingNew, version: nil, reason: nil))
                tell(.upToDate(reason))
                return .success(
                    UpdateCheck(release: nil, decision: .nothing(reason), isForced: false))
            }
            var wanted = release
            var deviceState = try deviceState()
            deviceState.device = try versions.deviceName(
                options.device, for: release.audience, isDrawing: true)
            let demand = try versions.demand(of: release, on: options.app, platform: nil)
            wanted.requirements = demand.requirements
            deviceState.app = demand.app
            let decision = try UpdateDecision.decide(on: wanted, deviceState)
            // An earlier mandatory release was never shown: its replacement must be.
            var isForcedPending = try versions.pendingForcedVersion != nil
            switch decision {
            case .nothing, .stay:
                isForcedPending = false
                try versions.notePendingForced(nil)
            case .refuse: break
            case .waiting, .download, .take:
                isForcedPending = try versions.noteForced(
                    release.version.description, isMandatory: release.isMandatory)
            }
            switch decision {
            case .nothing, .waiting, .stay, .take: await source.noteObeyed()
            // A refused release is not remembered; a download is noted when it is complete.
            case .refuse, .download: break
            }
            let isForced = release.isMandatory || isForcedPending
            note(release.version.description, decision)
            return .success(UpdateCheck(release: release, decision: decision, isForced: isForced))
        } catch {
            eventLog.record(error, asking: source.origin)
            tell(error, during: .checking)
            return .failure(error)
        }
    }

    private func note(_ version: String, _ decision: UpdateDecision) {
        let (outcome, reason): (CheckOutcome, String?) =
            switch decision {
            case .nothing, .waiting, .stay: (.nothingNew, nil)
            case .refuse(let reasons): (.refused, reasons.joined(separator: "; "))
            case .download, .take: (.available, nil)
            }
        eventLog.record(
            .checked(origin: source.origin, outcome: outcome, version: version, reason: reason))
        switch decision {
        case .nothing(let reason): tell(.upToDate(reason))
        case .refuse(let reasons): tell(.refused(version: version, reasons: reasons))
        case .waiting, .download, .take, .stay: break
        }
    }

    private func deviceState() throws(StoreError) -> DeviceState {
        var known: [String: DeviceState.Known] = [:]
        for summary in try versions.versions() {
            let isComplete =
                switch summary.state {
                case .incomplete: false
                case .complete: try versions.canBeShown(summary.version)
                case .materialized: true
                }
            known[summary.version] = .init(content: summary.content, isComplete: isComplete)
        }
        var deviceState = DeviceState(lifecycle: try versions.lifecycle(), versions: known)
        deviceState.embeddedOrder = options.embedded?.order
        return deviceState
    }

    // MARK: Updating

    private func makeUpdate() async -> Result<UpdateOutcome, StoreError> {
        defer { state = .idle }
        let check: UpdateCheck
        do throws(StoreError) {
            check = try await self.check()
        } catch {
            return .failure(error)
        }
        guard let release = check.release else {
            return .success(.upToDate("the origin has nothing new"))
        }
        let version = release.version.description
        do throws(StoreError) {
            switch check.decision {
            case .nothing(let reason): return .success(.upToDate(reason))
            case .refuse(let reasons):
                return .success(.refused(version: version, reasons: reasons))
            case .waiting(let version), .stay(let version):
                return .success(try makeReady(version, isForced: check.isForced))
            case .download: try await download(release, check.isForced)
            case .take: break
            }
            return .success(try makeReady(version, isForced: check.isForced))
        } catch {
            tell(error, during: .downloading)
            return .failure(error)
        }
    }

    private func download(_ release: Release, _ isForced: Bool) async throws(StoreError) {
        let version = release.version.description
        let cost = try await source.plan(release)
        eventLog.record(.planned(version: version, cost: cost))
        tell(.available(version: version, cost: cost, isForced: isForced))
        eventLog.record(.downloadBegan(version: version))
        state = .downloading(version: version)
        let began = clock.now
        let last = Mutex(DownloadFigures())
        var figures: DownloadFigures
        var failure: StoreError?
        do throws(StoreError) {
            figures = try await source.download(release) { [hub] progress in
                last.withLock { $0 = progress.figures }
                hub.post(.progress(version: version, progress))
            }
        } catch {
            figures = last.withLock { $0 }
            failure = error
        }
        figures.duration = clock.now - began
        eventLog.record(.ended(release.version, figures, failure))
        if let failure { throw failure }
    }

    /// Makes a complete version the next one, and shows it if this is the moment.
    private func makeReady(_ version: String, isForced: Bool) throws(StoreError) -> UpdateOutcome {
        let waited = try versions.lifecycle().pending
        guard try versions.putNext(version) else {
            let reason = "version \(version) is current already; what was pending no longer waits"
            try versions.notePendingForced(nil)
            tell(.upToDate(reason))
            return .upToDate(reason)
        }
        if isForced { forcedVersion = version }
        if let waited, waited != version { tidy() }
        if let report = try switchIfDue(at: .ready) { return .started(report) }
        let reason = try waitsFor(version)
        tell(.ready(version: version, waitsFor: reason))
        return .ready(version: version, waitsFor: reason)
    }
}
