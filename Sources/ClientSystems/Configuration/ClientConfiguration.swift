package import HotPush

/// What the operator has set for one system of an origin: the file `for/<system>/config.json`.
///
/// A value; written by `castree origin enable`, read by publishers and by `castree origin serve`.
package struct ClientConfiguration: Sendable, Hashable {
    package var system: ClientSystem
    /// Where the origin's server is for clients, without a slash at the end: `https://u.example.org`.
    ///
    /// All URLs in answers begin with it; a request's `Host` is never used.
    package var baseURL: String
    /// Which channel answers to what clients name in a request.
    ///
    /// CodePush: a deployment key. hot-updater: `<platform>/<channel>`, as `ios/production`. Expo: the value of
    /// `expo-channel-name`, empty for clients that send none. Capgo: `<app_id>` or `<app_id>/<defaultChannel>`.
    /// chcp, Meteor: the name in the URL.
    package var deployments: [String: ChannelName]
    /// The folder in which CodePush's clients keep a release: `CodePush` (React Native) or `www` (Cordova).
    package var folder = "CodePush"
    /// The most offers that a history lists.
    package var historyCount = 200
    /// Whether the system is enabled; in a bucket the file stays when it is not any more.
    package var isEnabled = true
    /// The entry of the origin's log in which it stands; `nil` where there is no log.
    package var log: Int64?

    package init(
        _ system: ClientSystem, baseURL: String, deployments: [String: ChannelName] = [:]
    ) {
        self.system = system
        self.baseURL = baseURL
        self.deployments = deployments
    }
}
