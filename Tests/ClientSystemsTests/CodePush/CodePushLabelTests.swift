import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// Labels: what clients call a release, and what its roll-out is chosen by.
@Suite struct CodePushLabelTests {
    @Test func `Going back gives an old tree a new label, and its own hash`() throws {
        var model = CodePushModel()
        let first = try model.publish("40")
        let second = try model.publish("41")
        let third = try model.publish("40")
        expect([first, second, third].map(\.label), equals: ["v1", "v2", "v3"])
        expect(third.packageHash, equals: first.packageHash)
        expect(third.firstOfferedAt == first.firstOfferedAt && third.createdAt > second.createdAt)
        let update = try require(
            try model.update("&label=v2&package_hash=\(second.packageHash ?? "")"))
        expect(update["label"]?.asString, equals: "v3")
        // Who still has it under its first label has it.
        let same = try model.update("&label=v1&package_hash=\(first.packageHash ?? "")")
        expect(same?["is_available"]?.asBool, equals: false)
    }

    @Test func `Offering the newest to more devices keeps its label, and so its roll-out`() throws {
        var model = CodePushModel()
        try model.publish("40")
        try expect(model.publish("41", perMille: 100).label, equals: "v2")
        try expect(model.publish("41", perMille: 500).label, equals: "v2")
        try expect(model.publish("41").label, equals: "v2")
        try expect(model.publish("42").label, equals: "v3")
    }

    @Test func `Offering what is first again to more devices keeps its label, too`() throws {
        var model = CodePushModel()
        try model.publish("40")
        try expect(model.publish("41", perMille: 100).label, equals: "v2")
        model.origin.withdraw(try model.publish("42"))
        try expect(model.publish("41", perMille: 500).label, equals: "v2")
        try expect(model.publish("40").label, equals: "v4")
        try expect(model.publish("42").label, equals: "v5")
    }

    @Test func `Labels continue from the largest, also when old offers are forgotten`() throws {
        var model = CodePushModel()
        let version = try model.origin.add("1", ["a": "1"])
        var history = ClientHistory(.codePush, .stable)
        history.labelCount = 17
        let release = ChannelRelease(.version(version), sequence: 1, createdAt: 1)
        func label() throws -> String? {
            try CodePush.offer(
                model.origin.clientRelease(release, now: 1, for: model.configuration),
                after: history
            ).offer.label
        }
        try expect(label(), equals: "v18")
        var old = ClientOffer(sequence: 1, target: .embedded, createdAt: 9, firstOfferedAt: 9)
        old.label = "v99"
        history.offers = [old]
        try expect(label(), equals: "v100")
        // Above numbers that nobody has counted to there is none: labels continue from the others.
        let most = ChannelPointer.sequenceMax
        for (count, labels, next) in [
            (most, ["v99"], "v100"), (most - 1, ["v99"], "v\(most)"),
            (most, ["v1", "v\(most)", "v2"], "v3"), (most, ["v\(most - 1)", "v\(most)"], "v1"),
            (most, ["v7", "v\(most - 2)", "v\(most)"], "v\(most - 1)"), (most, [], "v1"),
        ] {
            history.labelCount = count
            history.offers = labels.map {
                old.label = $0
                return old
            }
            try expect(label(), equals: next)
        }
        // The same release once more, below others: its own label.
        var own = ClientOffer(
            sequence: 1, target: .version(version, facts: version.content), createdAt: 10,
            firstOfferedAt: 10)
        own.label = "v5"
        var newer = ClientOffer(sequence: 2, target: .embedded, createdAt: 11, firstOfferedAt: 11)
        newer.label = "v6"
        history.offers = [own, newer]
        try expect(label(), equals: "v5")
    }
}
