extension ClientSystem {
    /// The rules by which releases are offered to the clients of each system.
    package static let publishing: [any ClientPublishing.Type] = [
        CodePushPublishing.self, HotUpdaterPublishing.self, ExpoPublishing.self,
        CapgoPublishing.self, ChcpPublishing.self, MeteorPublishing.self,
    ]
}
