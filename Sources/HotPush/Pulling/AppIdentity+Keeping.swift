import StrictJSON
import VersionTree

extension AppIdentity {
    /// The name of the member.
    static let key = "app"

    /// The member of a manifest that keeps it.
    var member: JSONValue.Member {
        var members: [JSONValue.Member] = []
        if let id { members.append(.init(key: "id", value: .string(id))) }
        if let rootURL { members.append(.init(key: "rootURL", value: .string(rootURL))) }
        return .init(key: Self.key, value: .object(members))
    }

    /// What a fetched version says about the app.
    init(keptIn manifest: Manifest) {
        let kept = manifest.foreign.first { $0.key == Self.key }?.value
        self.init(id: kept?["id"]?.asString, rootURL: kept?["rootURL"]?.asString)
    }
}
