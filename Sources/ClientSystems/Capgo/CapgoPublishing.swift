import Archives
import HotPush
package import Platform
import VersionTree

/// Says what Capgo's clients are told of a release: its name, its archive, its files.
package enum CapgoPublishing: ClientPublishing {
    package static var system: ClientSystem { .capgo }

    /// The kinds of requirements that an app's version decides.
    static let kinds = [Requirement.appVersionRange, Requirement.minimumAppVersion]
    /// The page that the app starts with.
    static let launchPath = "index.html"

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections = ClientObjection.unlessAsked(configuration)
        objections += ClientObjection.unlessRequiring(
            kinds, release, "Capgo", example: "minimumAppVersion=1.2.0")
        func refuse(_ message: String) {
            objections.append(ClientObjection(refuses: true, message))
        }
        let unsayable = release.unsayable(besides: kinds)
        if !unsayable.isEmpty {
            refuse(
                "Capgo's clients say nothing but the app's version, so nobody would get what requires "
                    + "\(unsayable.listed): require appVersionRange or minimumAppVersion")
        }
        if release.release.isMandatory {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "Capgo's clients know nothing mandatory: the app's directUpdate decides when an update is shown"
                ))
        }
        guard let content = release.content, let version = release.release.version else {
            return objections
        }
        let name = version.name.description
        if SemanticVersion(name, padding: true) == nil {
            refuse(
                "Capgo's clients know versions by names such as 1.2.3, and this one is \(printable(name)): add it again "
                    + "with such a --version")
        }
        if content.manifest[try TreePath(launchPath)] == nil {
            refuse("Capgo's clients start with \(launchPath), and there is none at the top")
        }
        let compressed = content.manifest.entries.map(\.path.description).filter { path in
            path.utf8.suffix(3).elementsEqual(".br".utf8)
        }
        if let first = compressed.first {
            refuse(
                "Capgo's clients decompress every file whose name ends in .br and name it without: leave out "
                    + "\(printable(first))"
                    + (compressed.count > 1 ? " and \(compressed.count - 1) more" : ""))
        }
        objections += try ClientObjection.unlessArchived { () throws(StoreError) in
            _ = try archive(content)
        }
        if let objection = objection(toLongNames: content.manifest) { objections.append(objection) }
        return objections
    }

    /// Android keeps a file in its cache as its SHA-256, an underscore and its name: 65 bytes more, of 255.
    private static let nameByteCountMax = 190

    private static func objection(toLongNames manifest: Manifest) -> ClientObjection? {
        let long = manifest.entries.lazy.map(\.path.description).filter { path in
            let name = path.utf8.split(separator: UInt8(ascii: "/")).last
            return name.map { $0.count > nameByteCountMax } ?? false
        }
        guard let first = long.first else { return nil }
        return ClientObjection(
            refuses: false,
            "Capgo's clients on Android never get single files whose names have more than \(nameByteCountMax) bytes, and "
                + "then take nothing of the release by its manifest: give \(printable(first)) a shorter name"
        )
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        var offer = try ClientOffer(beginning: release, after: history)
        try release.refuseOtherContent(under: "Capgo's clients", in: history)
        if let content = release.content {
            offer.archive = try release.digest(archive(content))
        }
        return PreparedClientOffer(offer)
    }

    /// All files of a version.
    static func archive(_ content: ClientContent) throws(StoreError) -> ZipArchive {
        var members: [ZipMember] = []
        for entry in content.manifest.entries {
            members.append(try content.member(entry, at: entry.path.description))
        }
        return try ZipArchive(members)
    }
}
