import CASStore
import StrictJSON
import VersionTree

// Fetching the manifest of a castree origin: as a delta, or whole.

extension Pull {
    /// The bytes of a release's manifest, compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    func manifest(
        _ published: PublishedVersion, of pointer: ChannelPointer, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
        if let bytes = try changedManifest(published, of: pointer, at: location) { return bytes }
        let path = OriginLayout.manifest(published.manifest)
        let url = location.appending(path)
        let answer = try access.document(
            path, at: location, byteCountMax: published.manifestByteCount)
        guard !ReleaseProblem.isTrouble(answer.head.status) else {
            throw StoreError(
                .network,
                "the manifest of version \(published.name) cannot be fetched now (\(url) answered "
                    + "\(answer.head.status)); try again later")
        }
        guard answer.head.status == 200 else {
            throw StoreError(
                .notFound,
                "the manifest of version \(published.name) is not at the origin (\(url) answered "
                    + "\(answer.head.status)); publish the version again")
        }
        guard try ObjectID(of: answer.bytes) == published.manifest else {
            throw StoreError(
                .mismatch,
                "the manifest of version \(published.name) is not what its address says (\(url)); "
                    + "a cache or proxy may have changed it")
        }
        return answer.bytes
    }

    /// - Throws: `.tooLarge` for a manifest that is larger than its entries allow.
    func refuseTooLarge(_ published: PublishedVersion) throws(StoreError) {
        let byteCountMax = options.listByteCountMax
        guard published.manifestByteCount > byteCountMax else { return }
        throw StoreError(
            .tooLarge,
            "the manifest of version \(published.name) has \(published.manifestByteCount) bytes, more "
                + "than the \(byteCountMax) that \(options.entryCountMax) entries may take; "
                + "--max-entries allows more")
    }

    /// The manifest, made from that of a version in the store and a delta.
    ///
    /// - Returns: nil if the store has none of the channel's older manifests, the origin has no
    ///   delta, or the result is not the manifest.
    private func changedManifest(
        _ published: PublishedVersion, of pointer: ChannelPointer, at location: OriginLocation
    ) throws(StoreError) -> [UInt8]? {
        for base in pointer.deltaBases(of: published) {
            guard let known = try versions.store.open(base) else { continue }
            let answer: DocumentFetch.Answer
            do throws(StoreError) {
                answer = try access.document(
                    OriginLayout.delta(to: published.manifest, from: base), at: location,
                    byteCountMax: published.manifestByteCount / 2)
            } catch {
                guard error.code == .tooLarge else { throw error }
                return nil
            }
            guard answer.head.status == 200 else { return nil }
            // Whatever is wrong with it, the whole manifest can still be fetched.
            guard let delta = try? ManifestDelta(parsing: answer.bytes) else { return nil }
            let before = try known.read(at: 0, count: Int(known.byteCount))
            guard
                let bytes = delta.applied(to: before, byteCount: published.manifestByteCount),
                try ObjectID(of: bytes) == published.manifest
            else { return nil }
            return bytes
        }
        return nil
    }
}
