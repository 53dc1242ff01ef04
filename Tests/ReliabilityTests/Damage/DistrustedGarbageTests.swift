import StorageTestSupport

/// A collection does not read what it deletes.
///
/// But where a check has found other bytes in the place of garbage it looks:
/// they may be the last copy of content that somebody needs.
@Suite("The last copy in the place of garbage") struct DistrustedGarbageTests {
    @Test(
        "is kept by a collection after a check has named it", arguments: [false, true],
        ["some garbage", "hullo"])
    func kept(_ isExecutableCopy: Bool, _ garbage: String) throws {
        let victim = try TamperingTests.Victim()
        let versions = try victim.place.open()
        let source = victim.place.beside + "/source-garbage"
        try writeTree(source, ["garbage": garbage])
        _ = try versions.add(directory: source, version: "garbage")
        try versions.retire("garbage")
        for version in ["0", "1", "2"] { try TamperingTests.removeTree(victim, version) }
        let place = try victim.object(garbage, executable: isExecutableCopy)
        expect(rename(try victim.object("hello"), place), equals: 0)

        _ = try victim.place.open().check()
        try victim.place.open().collect()
        try expect(contentsBelow(victim.path("objects")).contains(address(of: "hello")))
        try expect(!contentsBelow(victim.place.store).contains(address(of: garbage)))
    }
}
