import HotPush
import Platform
import VersionTree

// What Capgo announces and records of a release: its name, its archive, its files.

extension Capgo {
    private static let kinds = [Requirement.appVersionRange, Requirement.minimumAppVersion]
    private static let launchPath = "index.html"
    /// Android caches a file as its SHA-256, an underscore and its name: 65 bytes more, of at most 255.
    private static let nameByteCountMax = 190

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.warnUnless(
            release, requires: kinds, "Capgo", example: "minimumAppVersion=1.2.0")
        objections.refuseUnsayable(
            in: release, besides: kinds, "Capgo's clients say nothing but the app's version",
            "appVersionRange or minimumAppVersion")
        objections.warnIfMandatory(
            release, "Capgo's clients", "the app's directUpdate decides when an update is shown")
        guard let content = release.content, let version = release.release.version else {
            return objections
        }
        let name = version.name.description
        if SemanticVersion(name, padding: true) == nil {
            objections.refuse(
                "Capgo's clients know versions by names such as 1.2.3, and this one is \(printable(name)): add it again "
                    + "with such a --version")
        }
        let paths = content.paths
        if !paths.contains(launchPath) {
            objections.refuse(
                "Capgo's clients start with \(launchPath), and there is none at the top")
        }
        let compressed = paths.filter { $0.utf8.suffix(3).elementsEqual(".br".utf8) }
        if let first = compressed.first {
            objections.refuse(
                "Capgo's clients decompress every file whose name ends in .br and name it without: leave out "
                    + "\(printable(first))"
                    + (compressed.count > 1 ? " and \(compressed.count - 1) more" : ""))
        }
        try objections.refuseUnlessArchived { () throws(StoreError) in _ = try archive(content) }
        let long = paths.first { path in
            let name = path.utf8.split(separator: UInt8(ascii: "/")).last
            return name.map { $0.count > nameByteCountMax } ?? false
        }
        if let long {
            objections.warn(
                "Capgo's clients on Android never get single files whose names have more than \(nameByteCountMax) bytes, and "
                    + "then take nothing of the release by its manifest: give \(printable(long)) a shorter name"
            )
        }
        return objections
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        guard let content = release.content else { return }
        prepared.offer.archive = try release.digest(archive(content))
    }
}
