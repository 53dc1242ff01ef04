import StorageTestSupport

// What a server makes of a store that was tampered with.

extension TamperingTests {
    /// Every path of every version.
    private static let paths = Set(Place.contents.values.flatMap(\.keys)).sorted()

    @Test(arguments: TestShare(oneIn: 9, of: "served damages").of(tamperings))
    func `is served right or not at all, if somebody`(_ tampering: Tampering) async throws {
        let victim = try Victim()
        // Nobody has asked the first one for anything; the second has served everything.
        let untouched = try VisitedSite(victim.place.open())
        let visited = try VisitedSite(victim.place.open())
        let before = try visited.page(loading: Self.paths)
        expect(before.count, equals: 1 + (Place.contents["1"] ?? [:]).count)
        try expectOneVersion(before, "before")
        try tampering.act(victim)
        var sites = [("visited", visited), ("untouched", untouched)]
        // That it cannot be begun at all is an answer, too.
        if let late = try? VisitedSite(victim.place.open()) { sites.append(("late", late)) }
        try expectRight(sites, "damaged")
        // What was tampered with may be another version than the one that is shown.
        for name in ["2", "0"] {
            // Refused or not: what is served then is right.
            _ = try? victim.place.open().activate(name)
            try expectRight(sites, "damaged, \(name) activated")
        }
        _ = try? victim.place.open().activate("1")
        _ = try victim.place.open().check(repairing: true)
        if let last = try? VisitedSite(victim.place.open()) { sites.append(("last", last)) }
        try expectRight(sites, "repaired")
        if tampering.stays.isDisjoint(with: [.damagedManifest, .editedManifest, .strayFile]) {
            try victim.heal()
            try victim.place.open().activate("1")
            let healed = try VisitedSite(victim.place.open())
            sites.append(("healed", healed))
            // All of it, not only nothing wrong.
            let answers = try healed.page(loading: Self.paths)
            expect(answers.count, equals: before.count)
            try expectOneVersion(answers, "healed")
            try expectRight(sites, "healed")
        }
        for (_, site) in sites { await site.stop() }
    }

    private func expectRight(_ sites: [(String, VisitedSite)], _ phase: String) throws {
        for (name, site) in sites {
            try expectOneVersion(site.page(loading: Self.paths), "\(name), \(phase)")
        }
    }

    /// All answers that a page gets are those of one version.
    private func expectOneVersion(
        _ answers: [(path: String, bytes: [UInt8])], _ when: String
    ) throws {
        let fitting = Place.contents.filter { _, files in
            answers.allSatisfy { answer in files[answer.path].map { Array($0.utf8) } == answer.bytes
            }
        }
        let shown = answers.map {
            "\($0.path): \(String(decoding: $0.bytes.prefix(40), as: UTF8.self))"
        }
        expect(!fitting.isEmpty, "\(when): \(shown)")
    }
}
