/// The messages of Meteor's Cordova plugin, word for word: apps compare these texts.
package enum MeteorMessages {
    // The manifest.

    /// The key `version` is missing.
    package static let noVersion = "Asset manifest does not have a version"
    /// The platform has no compatibility version.
    package static let noCompatibilityVersion =
        "Asset manifest does not have a cordovaCompatibilityVersion"
    /// The manifest cannot be fetched.
    package static let documentUnreachable = "Error downloading asset manifest"
    /// The manifest cannot be read.
    package static let documentUnreadable = "Error parsing asset manifest"

    /// The format is not `web-program-pre1`.
    package static func incompatibleFormat(_ format: String) -> String {
        "The asset manifest format is incompatible: \(format)"
    }

    /// The manifest came with an error status.
    package static func documentStatus(_ status: Int) -> String {
        "Non-success status code \(status) for asset manifest"
    }

    // Files.

    /// A file came with an error status.
    package static func fileStatus(_ status: Int, _ urlPath: String) -> String {
        "Non-success status code \(status) for asset: \(urlPath)"
    }

    /// The entity tag or the content of a file is not what the manifest says.
    package static func fileMismatch(_ urlPath: String) -> String {
        "Hash mismatch for asset: \(urlPath)"
    }

    // The index page.

    /// The page has no runtime configuration, or one that cannot be read.
    package static let noRuntimeConfiguration = "Couldn't load runtime config from index file"
    /// The runtime configuration has no `ROOT_URL`.
    package static let noRootURL = "Could not find ROOT_URL in downloaded asset bundle"
    /// The runtime configuration has no `appId`.
    package static let noAppID = "Could not find appId in downloaded asset bundle"
    /// An app that had a public server would be redirected to its own device.
    package static let rootURLWouldBeLocalhost =
        "ROOT_URL in downloaded asset bundle would change current ROOT_URL to localhost. "
        + "Make sure ROOT_URL has been configured correctly on the server."

    /// The page is of a different version than the manifest.
    package static func versionMismatch(expected: String, actual: String) -> String {
        "Version mismatch for index page, expected: \(expected), actual: \(actual)"
    }

    /// The page is another app's.
    package static func wrongAppID(_ rootURL: String) -> String {
        "appId in downloaded asset bundle does not match current appId. "
            + "Make sure the server at \(rootURL) is serving the right app."
    }

    // Policy.

    /// The version is banned.
    package static let banned = "Skipping downloading blacklisted version"
    /// The compatibility version differs from the app's.
    package static let incompatible =
        "Skipping downloading new version because the Cordova platform version or plugin versions "
        + "have changed and are potentially incompatible"
}
