import CASStore
import StrictJSON
import VersionTree

// Fetching what a castree origin names by the SHA-256 of its bytes: manifests, and where their objects stand.

/// A document that a release names.
struct OriginDocument {
    /// What it is, in a sentence.
    var name: String
    var address: ObjectID
    /// Its path in the origin.
    var path: String
    var byteCountMax: Int64

    init(manifestOf published: PublishedVersion) {
        name = "the manifest of version \(published.name)"
        address = published.manifest
        path = OriginLayout.manifest(address, in: published.epoch)
        byteCountMax = published.manifestByteCount
    }

    init(places address: ObjectID, of published: PublishedVersion) {
        name = "the list of the places of version \(published.name)"
        self.address = address
        path = OriginLayout.places(address, in: published.epoch)
        byteCountMax = Places.byteCountMax
    }
}

extension Pull {
    /// The bytes of a release's manifest, compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    func manifest(
        _ published: PublishedVersion, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
        try documents([OriginDocument(manifestOf: published)], at: location)[0]
    }

    /// The bytes of documents that come at the same time, each compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    func documents(
        _ wanted: [OriginDocument], at location: OriginLocation
    ) throws(StoreError) -> [[UInt8]] {
        let answers = try access.documents(
            wanted.map { ($0.path, $0.byteCountMax) }, at: location)
        var all: [[UInt8]] = []
        for (document, answer) in zip(wanted, answers) {
            all.append(try bytes(of: document, in: answer, at: location))
        }
        return all
    }

    private func bytes(
        of document: OriginDocument, in answer: DocumentFetch.Answer, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
        let url = printable(redacted("\(location.appending(document.path))"))
        let status = answer.head.status
        switch status {
        case 200: break
        // Some servers answer 403 for what does not exist.
        case 403, 404, 410:
            throw StoreError(
                .notFound,
                "\(document.name) is not at the origin (\(url) \(location.answer(status))); publish the version again"
            )
        case ..<400:
            throw StoreError(
                .network,
                "\(document.name) cannot be fetched: \(url) answered \(status), where a whole file was asked for; what "
                    + "serves the origin, or a proxy before it, answers wrongly")
        default:
            throw ReleaseProblem.noAnswer(
                "\(document.name) cannot be fetched now (\(url) answered \(status))", status)
        }
        guard try ObjectID(of: answer.bytes) == document.address else {
            throw StoreError(
                .mismatch,
                "\(document.name) is not what its address says (\(url)); "
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
