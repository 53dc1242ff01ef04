import HotPush
import Platform
import StrictJSON

/// The native code that a release is for: the text that an app sends as `Expo-Runtime-Version`.
///
/// The publisher's requirement comes first: `runtimeVersion`, or `fingerprint`, which apps with that policy send.
/// Otherwise `expoConfig.json` states it, as a text or as a policy together with its result.
enum ExpoRuntime {
    static let kinds = [Requirement.runtimeVersion, Requirement.fingerprint]

    /// - Throws: `.unsuitableRelease` if there is none, or if there are two.
    static func version(
        for platform: String, _ requirements: [Requirement], _ config: JSONValue?
    ) throws(StoreError) -> String {
        if let required = try required(requirements) { return required }
        guard let config else {
            throw ExpoExport.refusal(
                "nothing says for which runtime version it is: --require runtimeVersion=VERSION, or put \(ExpoExport.configPath) "
                    + "beside \(ExpoExport.metadataPath) (npx expo config --type public --json)")
        }
        let said = config[platform]?["runtimeVersion"] ?? config["runtimeVersion"]
        if let text = said?.asString, !text.isEmpty { return text }
        if let policy = said?["policy"]?.asString,
            let version = version(policy: policy, platform, config)
        {
            return version
        }
        throw ExpoExport.refusal(
            "its \(ExpoExport.configPath) does not say for which runtime version of \(platform) it is: "
                + "--require runtimeVersion=VERSION")
    }

    static func required(_ requirements: [Requirement]) throws(StoreError) -> String? {
        let values = requirements.filter { kinds.contains($0.kind) }.map(\.value)
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0.utf8.elementsEqual(first.utf8) }) else {
            throw ExpoExport.refusal(
                "an app has one runtime version, and \(requirements.listed) are two")
        }
        return first
    }

    /// The result of a policy by docs.expo.dev, "Runtime versions"; `nil` where only the app's build knows it.
    private static func version(
        policy: String, _ platform: String, _ config: JSONValue
    ) -> String? {
        let app = config[platform]?["version"]?.asString ?? config["version"]?.asString ?? "1.0.0"
        switch policy {
        case "appVersion": return app
        case "nativeVersion":
            let build =
                platform == "ios"
                ? config["ios"]?["buildNumber"]?.asString ?? "1"
                : config["android"]?["versionCode"]?.asInt64.map(String.init) ?? "1"
            return "\(app)(\(build))"
        case "sdkVersion": return config["sdkVersion"]?.asString.map { "exposdk:\($0)" }
        default: return nil
        }
    }
}
