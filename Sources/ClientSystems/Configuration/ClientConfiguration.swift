package import HotPush

/// The operator's settings for one system of an origin: the file `for/<system>/config.json`.
///
/// `castree origin enable` writes it; publishers and `castree origin serve` read it.
package struct ClientConfiguration: Sendable, Hashable {
    package var system: ClientSystem
    /// The base URL of the origin's server for clients, without a trailing slash: `https://u.example.org`.
    ///
    /// All URLs in answers begin with it; a request's `Host` is never used.
    package var baseURL: String
    /// The channel for each name that clients send.
    ///
    /// CodePush: a deployment key. hot-updater: `<platform>/<channel>`, as `ios/production`. Expo: the value of
    /// `expo-channel-name`, empty for clients that send none. Capgo: `<app_id>` or `<app_id>/<defaultChannel>`. chcp,
    /// Meteor: the name in the URL.
    package var deployments: [String: ChannelName]
    /// The folder in which CodePush's clients keep a release: `CodePush` (React Native) or `www` (Cordova).
    package var folder = "CodePush"
    package var historyCount = 200
    /// Whether the system is enabled; in a bucket the file outlives its system.
    package var isEnabled = true
    /// The entry of the origin's log that states it; `nil` where there is no log.
    package var log: Int64?

    package init(
        _ system: ClientSystem, baseURL: String, deployments: [String: ChannelName] = [:]
    ) {
        self.system = system
        self.baseURL = baseURL
        self.deployments = deployments
    }
}
