import StorageTestSupport

// `castree fsck --repair --from`: an origin that has the content brings it back.

extension TamperingTests {
    @Test(arguments: objects + trees)
    func `is whole after one repair from an origin, if somebody`(_ tampering: Tampering) throws {
        let victim = try Victim()
        let names = ["0", "1", "2"]
        try Scenario.publish(names, of: victim.place.open(), to: victim.place.beside + "/origin")
        try tampering.act(victim)
        try Scenario.repairFromOrigin(victim.place, victim.place.open())
        let versions = try victim.place.open()
        let left = Set(try versions.check(CheckOptions(isDeep: true)).findings.map(\.kind))
        expect(left.isSubset(of: tampering.stays.intersection([.strayFile])), "\(left)")
        for name in names {
            try versions.materialize(name)
            try expect(readTree(victim.path("versions/\(name)")), equals: Place.contents[name])
        }
    }
}
