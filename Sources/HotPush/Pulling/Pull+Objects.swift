package import CASStore
import VersionTree

// Single objects, by address: what a repair needs.

extension Pull {
    /// Fetches objects from a castree origin: verified, durable, in place of what is there.
    ///
    /// Asks for no pointer and no manifest: an object's address gives its place, unless the caller knows another.
    /// - Parameter places: where objects stand that do not stand in epoch 0.
    /// - Returns: the addresses of those that came. Omits what the origin does not have, or has with
    ///   other bytes.
    /// - Throws: `.noOrigin` if there is no such directory; `.outOfSpace`, `.network`, `.interrupted`.
    ///   What has come is kept.
    package func fetch(
        _ lost: [Reference], from location: OriginLocation, at places: [ObjectID: String] = [:]
    ) throws(StoreError) -> Set<ObjectID> {
        guard !lost.isEmpty else { return [] }
        if case .directory(let path) = location {
            let status = try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path)
            guard status != nil else {
                throw StoreError(.noOrigin, "there is no origin at \(printable(path))")
            }
        }
        let origin = try OriginURL(of: location)
        let release = try Self.release(of: lost, at: places)
        let plan = try DownloadPlan(
            release, origin: location.description, addresses: release.files.map(\.address)
        ) { _ in false }
        try versions.store.checkSpace(for: plan.byteCount)
        var arrived: Set<ObjectID> = []
        let arrivals = try Arrivals(versions.store)
        arrivals.isMending = true
        let download = Download(
            plan, from: origin, format: CastreeFormat(),
            arrivals: arrivals, options: options,
            isInterrupted: access.isInterrupted, inspect: { (_, _) throws(StoreError) in }
        ) { (files) throws(StoreError) in
            for file in files { arrived.insert(file.content.name) }
        }
        // An object that the origin has lost, too, must not keep the others away.
        download.leavesOutWrongContent = true
        var failure: StoreError?
        do throws(StoreError) {
            try access.run(download, at: location)
        } catch {
            failure = error
        }
        failure = download.failure ?? failure
        try versions.store.uninterrupted { () throws(StoreError) in try download.settle() }
        download.report(download.progress)
        if let failure { throw failure }
        return arrived
    }

    /// The objects as a release in which any file may be absent.
    private static func release(
        of lost: [Reference], at places: [ObjectID: String]
    ) throws(StoreError) -> Release {
        var release = Release(
            family: CastreeFormat().family, version: try VersionName("objects"), trust: .digest,
            received: [])
        release.files.reserveCapacity(lost.count)
        for one in lost {
            let source = OriginLayout.object(one.address)
            var file = ReleaseFile(path: try TreePath(source), source: source)
            file.address = one.address
            file.byteCount = one.byteCount
            if let place = places[one.address] {
                file.sources = [ContentSource(place)]
            } else {
                // What a publisher sent stands among the manifests.
                file.sources.append(ContentSource(OriginLayout.manifest(one.address)))
            }
            file.isOptional = true
            release.files.append(file)
        }
        return release
    }
}
