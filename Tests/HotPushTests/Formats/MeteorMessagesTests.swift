import HotPush
import StorageTestSupport

@Suite("What Meteor's plugin says") struct MeteorMessagesTests {
    /// What no row of the plugin's own tests has; those in Meteor hold the others.
    @Test func `about files it says by their first URL, and about the manifest`() throws {
        let format = MeteorFormat()
        let files = try format.read(MeteorFixture(2).bytes, ReleaseContext()).files
        func file(_ path: String) throws -> ReleaseFile {
            try require(files.first { $0.path.description == path })
        }
        expect(
            format.message(.fileStatus(try file("index.html"), 500)),
            equals: "Non-success status code 500 for asset: /")
        expect(
            format.message(.fileMismatch(try file("app/some-file"))),
            equals: "Hash mismatch for asset: /some-file")
        expect(
            format.message(.documentStatus(500)),
            equals: "Non-success status code 500 for asset manifest")
        expect(
            format.message(.documentUnreachable("refused")),
            equals: "Error downloading asset manifest: refused")
    }

    @Test func `a page in place of the manifest is named with its type and beginning`() {
        let format = MeteorFormat()
        let document = format.documents(.server, version: nil)[0]
        expect(!document.accepts(contentType: "text/html; charset=utf-8"))
        expect(document.accepts(contentType: "application/json; charset=UTF-8"))
        expect(document.accepts(contentType: "Application/JSON"))
        expect(document.accepts(contentType: nil))
        let message = format.message(
            .documentType("text/html", beginning: Array("<!DOCTYPE html>\u{1b}".utf8)))
        expect(message.hasPrefix("Error parsing asset manifest: "))
        expect(message.contains("\"text/html\"") && message.contains("<!DOCTYPE html>\\u{1b}"))
    }
}
