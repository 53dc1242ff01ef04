public import CASStore
import StrictJSON
import VersionTree

// Obeying a plan.

extension Pull {
    /// Fetches what a plan says and registers the version: when it returns, the version is complete.
    ///
    /// - Throws: `.outOfSpace` before the first byte; `.network`, `.mismatch`, `.notFound`,
    ///   `.unsuitableRelease`, `.interrupted`. What has come is kept: the next pull goes on from it.
    public func fetch(
        _ plan: DownloadPlan, of offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        let began = noteBeginning(of: plan)
        do throws(StoreError) {
            let report = try obey(plan, offer)
            noteEnd(of: plan, since: began, nil)
            return report
        } catch {
            noteEnd(of: plan, since: began, error)
            throw error
        }
    }

    private func obey(
        _ plan: DownloadPlan, _ offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        figures = DownloadFigures()
        figures.reusedBytes = plan.reusedBytes
        let release = plan.release
        let draft = try Draft(plan, versions)
        var report = PullReport(version: release.version.description)
        report.family = release.family
        report.files = release.files.count
        report.reusedObjects = plan.reusedObjects
        report.reusedBytes = plan.reusedBytes
        try versions.store.checkSpace(for: plan.byteCount - stagedByteCount(of: plan))
        let wasHere = try versions.store.versionRow(report.version)?.isComplete == true
        let isComplete = try draft.register()
        report.isUnchanged = wasHere && isComplete
        let context = try context(of: offer)
        if !isComplete, !plan.contents.isEmpty {
            let download = Download(
                plan, from: offer.origin, format: offer.format,
                arrivals: try Arrivals(versions.store), options: options,
                isInterrupted: isInterrupted
            ) { (file, bytes) throws(StoreError) in
                if let app = try offer.format.inspect(file, bytes, of: release, context) {
                    draft.app = app
                }
            } settled: { (arrived) throws(StoreError) in
                draft.note(arrived)
                try draft.revise()
            }
            let failure = run(download, draft, over: transport(to: offer.location))
            report.objects = download.tally.fetchedCount
            report.bytes = download.tally.fetchedByteCount
            report.resumedBytes = download.tally.resumedByteCount
            report.skipped = download.tally.skipped.sorted()
            requestCount += download.tally.requestCount
            figures.files = report.objects
            figures.bytes = report.bytes
            figures.resumedBytes = report.resumedBytes
            figures.requests = download.tally.requestCount
            if let failure { throw failure }
        }
        report.requests = requestCount
        return report
    }

    /// How much of a plan an interrupted pull has staged; small files are not looked for.
    private func stagedByteCount(of plan: DownloadPlan) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for content in plan.contents where content.byteCount ?? 0 > 256 * 1024 {
            let status = try versions.fileSystem.status(
                versions.directories.staging.raw, content.name.description)
            byteCount += status?.byteCount ?? 0
        }
        return byteCount
    }

    /// - Returns: what ended the download early; what had come by then is in the store, and the
    ///   version's manifest names it.
    private func run(
        _ download: Download, _ draft: Draft, over transport: any Transport
    ) -> StoreError? {
        var failure: StoreError?
        do throws(StoreError) {
            try transport.run(download)
        } catch {
            failure = error
        }
        failure = download.failure ?? failure
        do throws(StoreError) {
            try versions.store.uninterrupted { () throws(StoreError) in
                do throws(StoreError) {
                    try download.settle()
                } catch {
                    failure = failure ?? error
                }
                draft.skip(download.tally.absent)
                try draft.revise()
            }
        } catch {
            // The error to report is the first.
            failure = failure ?? error
        }
        download.report(download.progress)
        return failure
    }
}

/// The manifest of a version that is being fetched, from names to addresses.
final class Draft {
    private let plan: DownloadPlan
    private let versions: VersionStore
    private let received: Manifest.Received
    private let lease: Lease
    /// Protects the received manifest where another pull was writing it at the same moment.
    private let apart: Arrivals?
    /// What is known of the content behind each name of the plan.
    private var contents: [ObjectID: ArrivedContent] = [:]
    private var absent: Set<ObjectID> = []
    /// What the format has read about the app.
    var app: AppIdentity?
    /// Whether something has come that the registered manifest does not name.
    private(set) var hasNews = false

    init(_ plan: DownloadPlan, _ versions: VersionStore) throws(StoreError) {
        let lease = try versions.store.makeLease()
        let release = plan.release
        var hasher = try ObjectHasher()
        let address = release.received.withUnsafeBytes { hasher.hash($0).address }
        apart = try Self.keep(release.received, address, in: versions.store, lease)
        received = Manifest.Received(
            format: release.family, address: address, byteCount: Int64(release.received.count))
        self.lease = lease
        self.plan = plan
        self.versions = versions
        app = plan.app
    }

    /// - Returns: what protects the bytes, if it is not the lease.
    private static func keep(
        _ bytes: [UInt8], _ address: ObjectID, in store: Store, _ lease: borrowing Lease
    ) throws(StoreError) -> Arrivals? {
        do throws(StoreError) {
            _ = try store.put(bytes, protectedBy: lease)
            return nil
        } catch {
            guard error.code == .busy else { throw error }
        }
        return try arrive(bytes, address, in: store)
    }

    /// Stages the bytes apart from another process that is writing the same.
    private static func arrive(
        _ bytes: [UInt8], _ address: ObjectID, in store: Store
    ) throws(StoreError) -> Arrivals {
        let arrivals = try Arrivals(store)
        var arrival = try arrivals.begin(address, byteCount: Int64(bytes.count))
        // What the other one has left behind by now is not gone on with.
        if arrival.offset > 0 { try arrival.restart() }
        try arrival.append(bytes.span.bytes)
        _ = try arrival.finish()
        _ = try arrivals.settle()
        return arrivals
    }

    /// The manifest as far as it is known: names stand for content that has not come.
    private func manifest() throws(StoreError) -> Manifest {
        var release = plan.release
        // The store orders its versions itself; the publisher's order is among the terms.
        release.order = nil
        // A mirror publishes with a version what it noted about its own origin: ours stands instead.
        release.foreign.removeAll { $0.key == ReleaseTerms.key }
        if let terms = ReleaseTerms(of: plan.release).member { release.foreign.append(terms) }
        if let app {
            release.foreign.removeAll { $0.key == AppIdentity.key }
            release.foreign.append(app.member)
        }
        let plan = plan
        let contents = contents
        let absent = absent
        var manifest = try release.manifest(ordinal: 0, createdAt: 0) {
            (position) throws(StoreError) in
            let name = plan.names[position]
            if absent.contains(name) { return nil }
            if let content = contents[name] { return content }
            let byteCount = release.files[position].byteCount
            return ArrivedContent(address: name, byteCount: byteCount ?? plan.knownSizes[name] ?? 0)
        }
        manifest.received = received
        return manifest
    }

    /// - Returns: whether nothing is missing.
    func register() throws(StoreError) -> Bool {
        let manifest = try manifest()
        do throws(StoreError) {
            return try versions.register(manifest)
        } catch {
            guard error.code == .versionExists else { throw error }
            // An incomplete version of that name: what it was to become has changed.
            do throws(StoreError) {
                return try versions.revise(manifest)
            } catch let second {
                guard second.code == .versionInUse else { throw second }
                if try isThere(manifest) { return true }
                throw error
            }
        }
    }

    /// Notes contents that are in the store; before the lease of the download ends, the manifest must
    /// name them.
    func note(_ arrived: [ArrivedFile]) {
        for one in arrived where one.content.isProvisional {
            contents[one.content.name] = ArrivedContent(
                address: one.arrived.object.address, byteCount: one.arrived.object.byteCount)
            hasNews = true
        }
    }

    func skip(_ names: Set<ObjectID>) {
        absent = names
        if !names.isEmpty { hasNews = true }
    }

    /// Puts what has come into the registered manifest.
    func revise() throws(StoreError) {
        guard hasNews else { return }
        let manifest = try manifest()
        do throws(StoreError) {
            try versions.revise(manifest)
        } catch {
            guard error.code == .versionInUse, try isThere(manifest) else { throw error }
        }
        hasNews = false
    }

    /// Whether another process has completed the same release meanwhile.
    private func isThere(_ manifest: Manifest) throws(StoreError) -> Bool {
        let name = manifest.version.description
        guard
            try versions.versions().contains(where: {
                $0.version == name && $0.state != .incomplete
            })
        else { return false }
        return try versions.manifest(of: name).received?.address == received.address
    }
}
