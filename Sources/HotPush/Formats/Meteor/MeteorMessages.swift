/// The messages of Meteor's Cordova plugin, word for word: apps compare these texts.
package enum MeteorMessages {
    // The manifest.

    package static let noVersion = "Asset manifest does not have a version"
    package static let noCompatibilityVersion =
        "Asset manifest does not have a cordovaCompatibilityVersion"
    package static let documentUnreachable = "Error downloading asset manifest"
    package static let documentUnreadable = "Error parsing asset manifest"

    package static func incompatibleFormat(_ format: String) -> String {
        "The asset manifest format is incompatible: \(format)"
    }

    package static func documentStatus(_ status: Int) -> String {
        "Non-success status code \(status) for asset manifest"
    }

    // Files.

    package static func fileStatus(_ status: Int, _ urlPath: String) -> String {
        "Non-success status code \(status) for asset: \(urlPath)"
    }

    package static func fileMismatch(_ urlPath: String) -> String {
        "Hash mismatch for asset: \(urlPath)"
    }

    // The index page.

    package static let noRuntimeConfiguration = "Couldn't load runtime config from index file"
    package static let noRootURL = "Could not find ROOT_URL in downloaded asset bundle"
    package static let noAppID = "Could not find appId in downloaded asset bundle"
    /// An app that had a public server would be redirected to its own device.
    package static let rootURLWouldBeLocalhost =
        "ROOT_URL in downloaded asset bundle would change current ROOT_URL to localhost. "
        + "Make sure ROOT_URL has been configured correctly on the server."

    package static func versionMismatch(expected: String, actual: String) -> String {
        "Version mismatch for index page, expected: \(expected), actual: \(actual)"
    }

    package static func wrongAppID(_ rootURL: String) -> String {
        "appId in downloaded asset bundle does not match current appId. "
            + "Make sure the server at \(rootURL) is serving the right app."
    }

    // Policy.

    package static let banned = "Skipping downloading blacklisted version"
    package static let incompatible =
        "Skipping downloading new version because the Cordova platform version or plugin versions "
        + "have changed and are potentially incompatible"
}
