import HotPush
package import Platform
import VersionTree

/// Says what clients of cordova-hot-code-push are told of a release: two files, the same for everybody.
package enum ChcpPublishing: ClientPublishing {
    package static var system: ClientSystem { .chcp }

    /// The kind of requirement that these clients check themselves.
    static let kinds = [Requirement.minimumNativeInterface]
    /// What the plugin writes into a release itself.
    static let ownPaths: Set<String> = ["chcp.json", "chcp.manifest"]

    package static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection] {
        var objections = ClientObjection.unlessAsked(configuration)
        objections += release.objectionsOfStaticClients("chcp's clients", besides: kinds)
        objections += ClientObjection.unlessRequiring(
            kinds, release, "chcp", example: "minimumNativeInterface=3")
        if release.release.isMandatory {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "chcp's clients show a mandatory release as soon as it is there (\"update\":\"now\"), and the older one "
                        + "until then"))
        }
        guard let content = release.content else { return objections }
        let paths = content.manifest.entries.map(\.path.description)
        // They build a URL from a name, and these would begin its query or its fragment.
        if let path = paths.first(where: { $0.utf8.contains(0x3f) || $0.utf8.contains(0x23) }) {
            objections.append(
                ClientObjection(
                    refuses: true,
                    "chcp's clients cannot ask for a name with ? or #: rename \(printable(path))"))
        }
        if let path = paths.first(where: { $0.utf8.contains { $0 >= 0x80 } }) {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "chcp's clients send names beyond ASCII as they are, which castree's server and nginx take and "
                        + "others may not, such as \(printable(path))"))
        }
        for path in paths where ownPaths.contains(path) {
            objections.append(
                ClientObjection(
                    refuses: false,
                    "chcp's clients write \(path) themselves: that of the version is left out"))
        }
        return objections
    }

    package static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer {
        try release.refuseOtherContent(under: "chcp's clients", in: history)
        return PreparedClientOffer(try ClientOffer(beginning: release, after: history))
    }
}
