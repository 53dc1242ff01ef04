import OriginTestSupport

/// Commands that are refused where an older castree publishes, which writes no log, and would do it no more beside one.
@Suite struct RefusedTakeOverTests {
    enum Verb: CaseIterable, Sendable {
        case publishOther, withdraw, withdrawElsewhere, pack, prune, look
        // Of what is signed:
        case publishUnsigned, withdrawUnsigned, packUnsigned, enableUnsigned
        case publishByOthers, resignByOthers, rotateByOthers, resignElsewhere

        var isSigned: Bool {
            ![.publishOther, .withdraw, .withdrawElsewhere, .pack, .prune, .look].contains(self)
        }

        var code: StoreError.Code? {
            switch self {
            case .publishOther: .versionExists
            case .withdraw, .withdrawElsewhere, .pack, .resignElsewhere: .notOffered
            case .prune: .damagedOrigin
            case .look: nil
            default: .untrusted
            }
        }

        func run(_ signed: SignedPlace) throws {
            let place = signed.place
            let publisher = place.publisher()
            let others = signed.publisher(try signed.signing(signed.bob))
            switch self {
            case .publishOther:
                let other = try TemporaryStore(adding: "1", ["index.html": "another one"])
                try publisher.publish("1", of: other.versions)
            case .withdraw: _ = try publisher.withdraw(VersionName("99"))
            case .withdrawElsewhere:
                _ = try publisher.withdraw(VersionName("1"), from: ChannelName("none"))
            case .pack: _ = try publisher.pack("2", of: place.versions)
            case .prune: try publisher.collect()
            case .look: _ = try publisher.engine().clients()
            case .publishUnsigned: try place.publish("2")
            case .withdrawUnsigned: _ = try publisher.withdraw(VersionName("1"))
            case .packUnsigned: _ = try publisher.pack("1", of: place.versions)
            case .enableUnsigned:
                _ = try publisher.engine().beginAnnouncing(of: [.stable], nil) { _ in }
            case .publishByOthers: try others.publish("2", of: place.versions)
            case .resignByOthers: try others.resign()
            case .rotateByOthers:
                try others.rotate(TrustRotation(adding: [try signed.key(signed.mallory)]))
            case .resignElsewhere:
                try signed.publisher(try signed.signing(signed.alice)).resign(ChannelName("none"))
            }
        }
    }

    @Test(arguments: Verb.allCases)
    func `leave it as it is`(_ verb: Verb) throws {
        let signed = try SignedPlace()
        let place = signed.place
        if verb.isSigned {
            try signed.publish("1", signed.signing(signed.alice))
        } else {
            try place.publish("1")
        }
        try place.forgetLog()
        if verb == .prune { Damage.remove("\(place.origin)/\(OriginLayout.manifests)") }
        let before = try place.published()
        expect(code { try verb.run(signed) }, equals: verb.code)
        try expect(place.published(), equals: before)
    }
}
