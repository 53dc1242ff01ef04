import Console
import HotPush

extension Invocation {
    /// The traits of the app, by `--app KIND=VALUE` and `--group NAME`.
    /// - Throws: `usage`.
    func appTraits() throws(CommandError) -> AppTraits {
        var app = AppTraits()
        if values("group").contains("") { throw .usage("--group takes the name of a group") }
        for trait in values("app") + values("group").map({ "group=\($0)" }) {
            try Self.set(trait, of: &app)
        }
        return app
    }

    private static func set(_ trait: String, of app: inout AppTraits) throws(CommandError) {
        let parts = trait.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let kind = String(parts[0])
        let value = parts.count == 2 ? String(parts[1]) : ""
        switch kind {
        case "version" where !value.isEmpty: app.version = value
        case "compatibility" where !value.isEmpty: app.compatibility = value
        case "runtimeVersion" where !value.isEmpty: app.runtimeVersion = value
        case "fingerprint" where !value.isEmpty: app.fingerprint = value
        case "group" where !value.isEmpty:
            app.groups.formUnion(value.split(separator: ",").map(String.init))
        case "nativeInterface":
            guard let number = Int64(value) else { fallthrough }
            app.nativeInterface = number
        default:
            throw CommandError.usage(
                "--app takes version=, compatibility=, runtimeVersion=, nativeInterface=, "
                    + "fingerprint= or group= and a value, as in version=2.1.0; not '\(trait)'")
        }
    }
}
