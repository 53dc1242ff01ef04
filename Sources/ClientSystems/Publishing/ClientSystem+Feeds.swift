import Platform

extension ClientSystem {
    /// The feeds of all systems, in the order in which they are shown a request; no path belongs to two.
    static let feeds: [any ClientFeed.Type] = [
        CodePush.self, HotUpdater.self, Expo.self, Capgo.self, Chcp.self, Meteor.self,
    ]
}
