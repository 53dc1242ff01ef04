import CASStore
import StrictJSON
import VersionTree

// Fetching the manifest of a castree origin.

extension Pull {
    /// The bytes of a release's manifest, compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    func manifest(
        _ published: PublishedVersion, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
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
}
