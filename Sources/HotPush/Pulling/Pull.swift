public import CASStore
import StrictJSON
public import VersionTree

/// Brings versions from an origin into a store: ask, plan, fetch, show.
///
/// ```swift
/// let pull = Pull(into: versions, over: try CurlTransport())
/// let report = try pull.run("https://example.org/app")
/// ```
///
/// Every step may be repeated by any process: a partial download *is* a registered version some of
/// whose objects are missing. A version is visible only when it is whole.
///
/// Belongs to one thread.
public final class Pull {
    /// Where versions come to.
    public let versions: VersionStore
    /// How.
    public let options: PullOptions
    private let network: any Transport
    /// How many requests have been sent.
    public internal(set) var requestCount = 0

    /// Why the origin's releases are not for this device, as far as they are not.
    public internal(set) var refusals: [String] = []

    /// What the channel's pointer says of the release that was chosen; if none was, of the newest.
    public internal(set) var offered: OfferedRelease?

    /// How far the last download came, also if it failed.
    public internal(set) var figures = DownloadFigures()

    /// Makes a pull into a store.
    public init(
        into versions: VersionStore, over transport: any Transport,
        _ options: PullOptions = PullOptions()
    ) {
        self.versions = versions
        network = transport
        self.options = options
    }

    /// What carries requests to a location.
    func transport(to location: OriginLocation) -> any Transport {
        switch location {
        case .web: network
        case .directory(let path): DirectoryTransport(path)
        }
    }

    func isInterrupted() -> Bool {
        versions.store.options.isInterrupted() || options.isInterrupted()
    }

    /// Asks, fetches what is missing, and puts the version where ``PullOptions/destination`` says.
    ///
    /// - Returns: nil if the origin offers nothing for this device.
    /// - Throws: what the steps throw; what has come is kept.
    public func run(_ origin: String) throws(StoreError) -> PullReport? {
        try carryOut(try ask(origin))
    }

    /// Does what ``run(_:)`` does, with an answer that has come already.
    public func carryOut(_ answer: OriginAnswer) throws(StoreError) -> PullReport? {
        switch answer {
        case .known(let version):
            var report = PullReport(version: version)
            let row = try versions.versions().first { $0.version == version }
            report.files = row?.files ?? 0
            report.reusedBytes = row?.bytes ?? 0
            report.isUnchanged = true
            try show(version)
            report.requests = requestCount
            return report
        case .release(let offer):
            let plan = try plan(offer)
            let report = try fetch(plan, of: offer)
            try show(report.version)
            return report
        case .embedded:
            if let embedded = try versions.lifecycle().embedded { try show(embedded) }
            return nil
        case .nothing: return nil
        }
    }

    /// Puts a complete version where ``PullOptions/destination`` says.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`.
    public func show(_ version: String) throws(StoreError) {
        let lifecycle = try versions.lifecycle()
        switch options.destination {
        case .kept: try versions.materialize(version)
        case .current:
            if lifecycle.current != version { try versions.activate(version) }
        case .pending:
            if lifecycle.current == version, lifecycle.pending == nil { return }
            if lifecycle.pending != version { try versions.activateAtNextBoot(version) }
        }
    }

    // MARK: Deciding

    /// Decides what to fetch of a release.
    ///
    /// - Throws: `.bannedVersion` before a byte is fetched; `.versionExists` if the name is taken by
    ///   other content.
    public func plan(_ offer: FoundRelease) throws(StoreError) -> DownloadPlan {
        do throws(StoreError) {
            return try reckon(offer)
        } catch {
            options.journal?.record(error, during: "plan")
            throw error
        }
    }

    private func reckon(_ offer: FoundRelease) throws(StoreError) -> DownloadPlan {
        var release = offer.release
        if let name = options.version { release.version = try VersionName(name) }
        if !options.isForced { try refuseBanned(release, offer.format) }
        let addresses = try addresses(of: release, from: offer.location)
        let known = addresses.compactMap(\.self)
        let absent = Set(try versions.store.unvouched(known))
        return try DownloadPlan(
            release, origin: offer.location.description, addresses: addresses,
            sizes: sizes(of: release, addresses)
        ) { !absent.contains($0) }
    }

    private func refuseBanned(
        _ release: Release, _ format: any ReleaseFormat
    ) throws(StoreError) {
        guard let content = try release.contentAddress() else {
            // Nobody knows the content yet; the name stands for it.
            let bad = try versions.lifecycle().bad
            guard bad.contains(where: { $0.version == release.version.description }) else { return }
            throw format.error(.banned(release.version.description))
        }
        guard let ban = try versions.lifecycle().ban(of: content) else { return }
        var error = format.error(.banned(release.version.description))
        error.message += " (\(printable(ban.reason)))"
        throw error
    }

    /// For each file the address of its content, as far as anybody knows it.
    private func addresses(
        of release: Release, from origin: OriginLocation
    ) throws(StoreError) -> [ObjectID?] {
        var result = release.files.map(\.address)
        guard result.contains(nil) else { return result }
        let draft = try arrivedFiles(of: release)
        var known = try KnownContent(versions, for: release.files)
        for (position, file) in release.files.enumerated() where result[position] == nil {
            if let address = draft[file.path.description],
                try address
                    != file.provisionalAddress(
                        origin: origin.description, version: release.version.description)
            {
                result[position] = address
            } else {
                result[position] = try known.address(of: file)
            }
        }
        return result
    }

    /// The sizes of known content of which the release does not tell the size.
    private func sizes(
        of release: Release, _ addresses: [ObjectID?]
    ) throws(StoreError) -> [ObjectID: Int64] {
        var result: [ObjectID: Int64] = [:]
        for (position, file) in release.files.enumerated() where file.byteCount == nil {
            guard let address = addresses[position], let reader = try versions.store.open(address)
            else { continue }
            result[address] = reader.byteCount
        }
        return result
    }

    /// What an interrupted pull of the same release has brought, by path.
    private func arrivedFiles(of release: Release) throws(StoreError) -> [String: ObjectID] {
        let manifest: Manifest
        do throws(StoreError) {
            manifest = try versions.manifest(of: release.version.description)
        } catch {
            if error.code == .noVersion { return [:] }
            throw error
        }
        var hasher = try ObjectHasher()
        let received = release.received.withUnsafeBytes { hasher.hash($0).address }
        guard manifest.received?.address == received else { return [:] }
        var result: [String: ObjectID] = [:]
        for entry in manifest.entries { result[entry.path.description] = entry.address }
        return result
    }

    /// What the current version says about the app, for formats that check it.
    func appIdentity() throws(StoreError) -> AppIdentity {
        guard let current = try versions.lifecycle().current else { return AppIdentity() }
        return AppIdentity(keptIn: try versions.manifest(of: current))
    }
}
