import HotPush
import StorageTestSupport

@Suite("A publisher's name of a version") struct ForeignVersionNameTests {
    @Test(arguments: ["version1", "a4b7692d011cec5e0c3415a13a580e844af46040", "1.2.3-rc.1+b@x~y"])
    func `is the store's name if it can be`(_ text: String) throws {
        try expect(VersionName.foreign(text).description, equals: text)
    }

    @Test(arguments: [
        ("release 1", "v~release~201"), ("feature/x", "v~feature~2fx"),
        (".hidden", "v~.hidden"),
        ("-x", "v~-x"), ("\u{fc}", "v~~c3~bc"), ("a~b c", "v~a~7eb~20c"), ("v~x", "v~v~7ex"),
        (".", "v~."), ("\u{1b}[0m", "v~~1b~5b0m"),
    ])
    func `is spelled out if it cannot be`(_ text: String, _ name: String) throws {
        try expect(VersionName.foreign(text).description, equals: name)
    }

    @Test func `is cut and made distinct by its SHA-256 if it is too long`() throws {
        let name = try VersionName.foreign(String(repeating: "x", count: 200)).description
        expect(
            name,
            equals: "v~" + String(repeating: "x", count: 60)
                + "~~aa20c23e3201834050679e1d88941b9a6fed0557c9a705cb2c315e2e63fd486d")
        let other = try VersionName.foreign(String(repeating: "x", count: 199) + "y").description
        expect(other != name && other.utf8.count == 128)
    }

    @Test(arguments: ["", "..", "../x", "a/..", "a/../b", "/", "/x", "a\0b", "a\\b"])
    func `is refused if it is a place or nothing`(_ text: String) {
        #expect(throws: (any Error).self) { try VersionName.foreign(text) }
    }

    @Test func `is kept beside the store's if the two differ`() throws {
        let odd = try MeteorFormat().read(
            MeteorFixture.manifest("", version: "release 1"), ReleaseContext())
        expect(odd.version.description, equals: "v~release~201")
        expect(odd.publisherVersion, equals: "release 1")
        expect(
            odd.foreign.contains {
                $0.key == "publisherVersion" && $0.value.asString == "release 1"
            })
        let plain = try MeteorFormat().read(MeteorFixture(1).bytes, ReleaseContext())
        expect(plain.publisherVersion, equals: "version1")
        expect(!plain.foreign.contains { $0.key == "publisherVersion" })
    }
}
