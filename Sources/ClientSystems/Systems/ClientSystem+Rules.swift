extension ClientSystem {
    /// The rules by which the clients of each system are answered, in the order in which a request is shown to them: no
    /// path belongs to two.
    package static let deciders: [any ClientDecider.Type] = [
        CodePushDecider.self, HotUpdaterDecider.self, ExpoDecider.self, CapgoDecider.self,
        ChcpDecider.self, MeteorDecider.self,
    ]
}
