import HotPush
import StorageTestSupport

@Suite("A document") struct RecognitionTests {
    @Test func `is recognized by what it holds`() throws {
        let documents: [(String, [UInt8])] = [
            ("castree", try CastreeFormatTests.manifest().serialized()),
            ("meteor", MeteorFixture(1).bytes),
            ("meteor", Array("{\"version\":\"v\",\"manifest\":[]}".utf8)),
            ("meteor", Array("{\"format\":\"web-program-pre2\"}".utf8)),
            ("8fit", Array("{\"files\":[],\"commit\":\"c\"}".utf8)),
        ]
        for (name, bytes) in documents {
            expect(recognized(bytes)?.name, equals: name)
        }
    }

    @Test func `is recognized by its beginning, too`() throws {
        expect(recognized(Array(MeteorFixture(1).bytes.prefix(64)))?.name, equals: "meteor")
        let castree = try CastreeFormatTests.manifest().serialized()
        expect(recognized(Array(castree.prefix(64)))?.name, equals: "castree")
    }

    @Test(arguments: [
        "", "[]", "{}", "<!DOCTYPE html>", "null", "{\"version\":\"1\"}", "{\"castree\":\"x\"}",
        "{\"manifest\":{}}", "{\"format\":\"other\"}", "{\"commit\":\"c\"}", "\u{0}\u{1}",
    ])
    func `is none of ours if nothing tells`(_ text: String) {
        expect(recognized(Array(text.utf8)) == nil)
    }

    @Test func `has a format with a name and a family`() {
        expect(ReleaseFormats.names, equals: ["castree", "meteor", "8fit"])
        for format in ReleaseFormats.all {
            expect(ReleaseFormats.named(format.name)?.family, equals: format.family)
        }
        expect(ReleaseFormats.named("auto") == nil)
    }

    private func recognized(_ bytes: [UInt8]) -> (any ReleaseFormat)? {
        ReleaseFormats.all.first { $0.recognizes(bytes) }
    }
}
