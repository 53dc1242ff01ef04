package import CASStore
package import VersionTree

// Whole versions, by name: what a repair needs if a manifest is lost.

extension Pull {
    /// What a repair fetches with: objects from a place, manifests from the channels of the origin there.
    ///
    /// Both throw `.noOrigin`, in the words of a pull, if nothing came and there is no origin at all. Of a directory
    /// that is known here already: looking costs nothing, and a check that comes first may take an hour. What is
    /// reached over a network is asked only if something must come.
    /// - Parameter ended: called after each of the two.
    /// - Throws: `.noOrigin` for a directory that is not there, or has neither an origin nor what is left of one; what
    ///   reading throws.
    package func repairSource(
        _ origin: String, at location: OriginLocation, ended: @escaping () -> Void = {}
    ) throws(StoreError) -> RepairSource {
        if case .directory(let path) = location, try !hasRemains(path) {
            try refuseNoOrigin(origin, at: location)
        }
        return RepairSource(
            objects: { (lost) throws(StoreError) in
                defer { ended() }
                var came = try self.fetchFromPacks(lost, of: origin, at: location)
                came.formUnion(
                    try self.fetchOneByOne(
                        lost.filter { !came.contains($0.address) }, of: origin, at: location))
                // What the origin has lost, too, may still be in a pack.
                let rest = lost.filter { !came.contains($0.address) }
                came.formUnion(
                    try self.fetchFromPacks(rest, of: origin, at: location, atAnyCost: true))
                if came.isEmpty { try self.refuseNoOrigin(origin, at: location) }
                return came
            },
            manifests: { (lost) throws(StoreError) in
                defer { ended() }
                let came = try self.fetch(lost, from: origin)
                if came.isEmpty { try self.refuseNoOrigin(origin, at: location) }
                return came
            })
    }

    /// Whether a directory has what a repair fetches; an origin that has lost all else still helps.
    ///
    /// - Throws: `.noOrigin` for what is no directory; what looking throws.
    private func hasRemains(_ path: String) throws(StoreError) -> Bool {
        // An origin is no part of the store, and may be root's alone.
        let fileSystem = versions.fileSystem.outside
        let directory: Descriptor
        do throws(StoreError) {
            directory = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            // A pull has its words for that.
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

    /// - Throws: `.noOrigin` if neither an origin nor a release of another format is there; `.network`,
    ///   `.interrupted`.
    private func refuseNoOrigin(
        _ origin: String, at location: OriginLocation
    ) throws(StoreError) {
        // A page in its place may be of any size.
        let isThere = try allowing(.notFound, .noOrigin, .tooLarge) { () throws(StoreError) in
            let marker = try access.document(
                OriginLayout.marker, at: location, byteCountMax: OriginMarker.byteCountMax)
            if marker.isDocument { return true }
            return try !access.pointers(of: origin, countMax: 1).isEmpty
        }
        if isThere == true { return }
        do throws(StoreError) {
            _ = try ask(origin)
        } catch {
            if error.code == .interrupted { throw error }
            // Anything else is said by something that is there.
            guard error.code == .notFound else { return }
            throw StoreError(.noOrigin, error.message)
        }
    }

    /// Fetches the manifests that a store has lost from the channels of a castree origin, with what they name that
    /// is not here; then the versions are whole.
    ///
    /// Neither the audience of a release nor a ban of its content matters: the version was here before. Notes
    /// no sequence.
    /// - Parameter origin: as for ``ask(_:)``.
    /// - Returns: the names of the versions that came. Omits what no channel offers, or offers with other content.
    /// - Throws: `.badOrigin`, `.noOrigin`, `.badPointer`, `.outOfSpace`, `.network`, `.interrupted`. What has come
    ///   is kept.
    package func fetch(
        _ lost: [LostManifest], from origin: String
    ) throws(StoreError) -> Set<String> {
        guard !lost.isEmpty else { return [] }
        let location = try OriginReference(parsing: origin).location
        // An origin without channels may still have objects.
        let pointers = try allowing(.notFound) { () throws(StoreError) in
            try access.pointers(of: origin)
        }
        var found: Set<String> = []
        let vouched = try vouched(pointers ?? [], at: location)
        for one in lost {
            for (pointer, offered) in vouched.flatMap({ p in p.releases.map { (p, $0) } })
            where one.isOffered(by: offered) {
                guard try fetch(one, offered, of: pointer, at: location) else { continue }
                found.insert(one.version)
                break
            }
        }
        return found
    }

    /// Those of the pointers that the store's trust allows, which is all of an origin that it takes everything from.
    ///
    /// Neither age nor expiry matters: the versions were here before.
    private func vouched(
        _ pointers: [ChannelPointer], at location: OriginLocation
    ) throws(StoreError) -> [ChannelPointer] {
        var vouched: [ChannelPointer] = []
        for pointer in pointers {
            do throws(StoreError) {
                try checkStanding(of: pointer, at: location)
                vouched.append(pointer)
            } catch {
                guard error.code == .untrusted else { throw error }
                // Another channel, or the tree, may have what is lost.
                Journal(versions).record(error, during: "repair")
            }
        }
        return vouched
    }

    /// - Returns: whether the version is whole now.
    private func fetch(
        _ lost: LostManifest, _ offered: OfferedRelease, of pointer: ChannelPointer,
        at location: OriginLocation
    ) throws(StoreError) -> Bool {
        guard let published = offered.version else { return false }
        // Another origin, or the tree, may have it.
        return try allowing(
            .notFound, .mismatch, .damagedOrigin, .badManifest, .badRelease, .tooLarge,
            .versionExists, .unsuitableRelease
        ) { () throws(StoreError) in
            var found = try release(published, offered, of: pointer, at: location)
            found.release.version = try VersionName(lost.version)
            let offer = try resolved(found)
            guard lost.mayName(offer.release) else { return false }
            _ = try fetch(reckon(offer, judges: false), of: offer)
            return true
        } ?? false
    }
}

extension LostManifest {
    fileprivate func isOffered(by release: OfferedRelease) -> Bool {
        guard let offered = release.version else { return false }
        // Or beside the name that other content had taken.
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
