import Platform

extension ClientSystem {
    /// All feeds, in the order in which they see a request; no path belongs to two.
    static let feeds: [any ClientFeed.Type] = [
        CodePush.self, HotUpdater.self, Expo.self, Capgo.self, Chcp.self, Meteor.self,
    ]
}
