/// A system of hot-pushed content whose clients, already in the field, update from a castree origin.
package enum ClientSystem: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Microsoft CodePush, for React Native and Cordova.
    case codePush = "codepush"
    /// Expo Updates, protocol 1.
    case expo
    /// hot-updater, for React Native.
    case hotUpdater = "hot-updater"
    /// Capgo's capacitor-updater.
    case capgo
    /// cordova-hot-code-push.
    case chcp
    /// Meteor's Cordova client.
    case meteor

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
