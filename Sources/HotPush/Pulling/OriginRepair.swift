package import CASStore
package import VersionTree

/// Fetches from an origin what a store or another origin has lost: objects by their addresses, versions by their names.
///
/// Needs no pointer and no manifest for objects; ignores audiences and bans, because what is lost was here before.
package struct OriginRepair: PullStep {
    package let basis: PullBasis

    package init(_ basis: PullBasis) { self.basis = basis }

    package init(
        into versions: VersionStore, over transport: any Transport,
        _ options: PullOptions = PullOptions()
    ) {
        basis = PullBasis(versions, over: transport, options)
    }

    /// What a repair fetches with: objects from a place, manifests from its origin's channels.
    ///
    /// A directory is examined here already, because that is cheap and the check before a repair may take an hour; a
    /// network is asked only if something is missing. Both functions throw `.noOrigin` if nothing came and there is
    /// none.
    /// - Throws: `.noOrigin` for a directory that does not exist, or has neither an origin nor remains of one; what
    ///   reading throws.
    package func source(
        _ origin: String, at location: OriginLocation, ended: @escaping () -> Void = {}
    ) throws(StoreError) -> RepairSource {
        if case .directory(let path) = location, try !hasRemains(path) {
            try refuseNoOrigin(origin, at: location)
        }
        return RepairSource(
            objects: { (lost) throws(StoreError) in
                defer { ended() }
                var came = try fetchFromPacks(lost, of: origin, at: location)
                came.formUnion(
                    try fetchOneByOne(
                        lost.filter { !came.contains($0.address) }, of: origin, at: location))
                // Packs may still have what the origin has lost as single objects.
                let rest = lost.filter { !came.contains($0.address) }
                came.formUnion(try fetchFromPacks(rest, of: origin, at: location, atAnyCost: true))
                if came.isEmpty { try refuseNoOrigin(origin, at: location) }
                return came
            },
            manifests: { (lost) throws(StoreError) in
                defer { ended() }
                let came = try restore(lost, from: origin)
                if came.isEmpty { try refuseNoOrigin(origin, at: location) }
                return came
            })
    }

    /// Whether a directory has objects or packs for a repair; throws `.noOrigin` if it is not a directory.
    private func hasRemains(_ path: String) throws(StoreError) -> Bool {
        // An origin lies outside the store, and only root may have access.
        let fileSystem = versions.fileSystem.outside
        let directory: Descriptor
        do throws(StoreError) {
            directory = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            // A pull has its own message for that.
            if error.code == .notFound { return false }
            guard error.isNotDirectory else { throw error }
            throw StoreError(.noOrigin, "\(printable(path)) is no directory", cause: error.cause)
        }
        for name in [OriginLayout.objects, OriginLayout.packs, OriginLayout.epochs]
        where try fileSystem.status(directory.raw, name)?.kind == .directory {
            return true
        }
        return false
    }

    private func refuseNoOrigin(_ origin: String, at location: OriginLocation) throws(StoreError) {
        // A page in its place may be of any size.
        let isThere = try allowing(
            [.notFound, .noOrigin, .tooLarge], try hasMarkerOrChannel(origin, at: location))
        if isThere == true { return }
        do throws(StoreError) {
            _ = try OriginInquiry(basis: basis).reply(of: origin)
        } catch {
            if error.code == .interrupted { throw error }
            // Any other error means that something is there.
            guard error.code == .notFound else { return }
            throw StoreError(.noOrigin, error.message)
        }
    }

    private func hasMarkerOrChannel(
        _ origin: String, at location: OriginLocation
    ) throws(StoreError) -> Bool {
        let marker = try access.document(
            OriginLayout.marker, at: location, byteCountMax: OriginMarker.byteCountMax)
        if marker.isDocument { return true }
        return try !access.pointers(of: origin, countMax: 1).isEmpty
    }

    /// Restores versions with lost manifests from the channels of a castree origin, with their missing objects.
    ///
    /// Notes no sequence.
    /// - Returns: the names of the restored versions; omits what no channel offers with the same content.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.outOfSpace`, `.network`, `.interrupted`. What arrived is
    ///   kept.
    package func restore(
        _ lost: [LostManifest], from origin: String
    ) throws(StoreError) -> Set<String> {
        guard !lost.isEmpty else { return [] }
        let location = try OriginReference(parsing: origin).location
        // An origin without channels may still have objects.
        let pointers = try allowing([.notFound], try access.pointers(of: origin))
        var found: Set<String> = []
        let trusted = try trusted(pointers ?? [], at: location)
        let trustsKeys = try judge.trustsKeys()
        for one in lost {
            // If its content is unknown, only a signature proves that this is it: known objects may be named otherwise.
            let needsSignature = trustsKeys && one.content == nil
            let offers = trusted.filter { $0.isSigned || !needsSignature }.flatMap {
                (pointer, _) in pointer.releases.map { (pointer, $0) }
            }
            for (pointer, offered) in offers where one.isOffered(by: offered) {
                // Another origin, or the tree, may have it.
                let isRestored = try allowing(
                    [
                        .notFound, .mismatch, .damagedOrigin, .badManifest, .badRelease, .tooLarge,
                        .versionExists, .unsuitableRelease,
                    ], try restore(one, offered, of: pointer, at: location))
                guard isRestored == true else { continue }
                found.insert(one.version)
                break
            }
        }
        return found
    }

    /// The pointers that the store's trust allows, whatever their age, because the versions were here before.
    private func trusted(
        _ pointers: [ChannelPointer], at location: OriginLocation
    ) throws(StoreError) -> [(pointer: ChannelPointer, isSigned: Bool)] {
        var trusted: [(pointer: ChannelPointer, isSigned: Bool)] = []
        for pointer in pointers {
            do throws(StoreError) {
                trusted.append((pointer, try judge.checkState(of: pointer, at: location)))
            } catch {
                guard error.code == .untrusted else { throw error }
                // Another channel, or the tree, may have what is lost.
                EventLog(versions).record(error, during: "repair")
            }
        }
        return trusted
    }

    /// Returns whether the version is complete.
    private func restore(
        _ lost: LostManifest, _ offered: ChannelRelease, of pointer: ChannelPointer,
        at location: OriginLocation
    ) throws(StoreError) -> Bool {
        guard let published = offered.version else { return false }
        var found = try documents.release(published, offered, of: pointer, at: location)
        found.release.version = try VersionName(lost.version)
        let offer = try documents.resolved(found)
        guard lost.mayName(offer.release) else { return false }
        _ = try ReleaseFetch(basis: basis, offer: offer, judges: false).run()
        return true
    }
}

extension LostManifest {
    fileprivate func isOffered(by release: ChannelRelease) -> Bool {
        guard let offered = release.version else { return false }
        // Its name may be a variant, if other content had taken its own.
        let name = offered.name.description
        return (version == name || version.hasPrefix("\(name)+pulled."))
            && (content == nil || content == offered.content)
    }

    /// Whether a release contains nothing that the version never had.
    fileprivate func mayName(_ release: Release) -> Bool {
        guard content == nil, let named else { return true }
        return release.files.allSatisfy { $0.address.map(named.contains) ?? false }
    }
}
