import HotPush
import Platform

// What chcp announces of a release: two files, the same for everybody, from which each answer is made.

extension Chcp {
    static let kinds = [Requirement.minimumNativeInterface]
    /// The files that the plugin itself writes into a release.
    static let ownPaths: Set<String> = ["chcp.json", "chcp.manifest"]

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        var objections: [ClientObjection] = []
        objections.warnUnlessAsked(release.configuration)
        objections.refuseChoice(in: release, "chcp's clients", besides: kinds)
        objections.warnUnless(
            release, requires: kinds, "chcp", example: "minimumNativeInterface=3")
        if release.release.isMandatory {
            objections.warn(
                "chcp's clients show a mandatory release as soon as it is there (\"update\":\"now\"), and the older one "
                    + "until then")
        }
        guard let paths = release.content?.paths else { return objections }
        // Clients build a URL from a name, and these characters would begin its query or fragment.
        if let path = paths.first(where: { $0.utf8.contains(0x3f) || $0.utf8.contains(0x23) }) {
            objections.refuse(
                "chcp's clients cannot ask for a name with ? or #: rename \(printable(path))")
        }
        if let path = paths.first(where: { $0.utf8.contains { $0 >= 0x80 } }) {
            objections.warn(
                "chcp's clients send names beyond ASCII as they are, which castree's server and nginx take and "
                    + "others may not, such as \(printable(path))")
        }
        for path in paths where ownPaths.contains(path) {
            objections.warn(
                "chcp's clients write \(path) themselves: that of the version is left out")
        }
        return objections
    }
}
