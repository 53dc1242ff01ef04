import StrictJSON
import VersionTree

extension AppIdentity {
    /// The name of the member.
    static let key = "app"

    /// The member of a manifest that keeps it.
    var member: JSONValue.Member {
        .init(key: Self.key, value: .members(["id": .text(id), "rootURL": .text(rootURL)]))
    }

    /// What a fetched version says about the app.
    init(keptIn manifest: Manifest) {
        let kept = manifest.foreign.first { $0.key == Self.key }?.value
        self.init(id: kept?["id"]?.asString, rootURL: kept?["rootURL"]?.asString)
    }
}
