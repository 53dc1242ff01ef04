import Expectations
import HotPush
import VersionTree

@Suite("What Meteor's plugin says") struct MeteorMessagesTests {
    @Test func `about files it says by their first URL`() throws {
        let format = MeteorFormat()
        let release = try format.read(MeteorFixture(2).bytes, ReleaseContext())
        func file(_ path: String) throws -> ReleaseFile {
            try require(release.files.first { $0.path.description == path })
        }
        expect(
            format.message(.fileStatus(try file("app/template.mobileapp.js"), 404)),
            equals: "Non-success status code 404 for asset: /app/template.mobileapp.js")
        expect(
            format.message(.fileStatus(try file("index.html"), 500)),
            equals: "Non-success status code 500 for asset: /")
        expect(
            format.message(.fileMismatch(try file("app/template.mobileapp.js"))),
            equals: "Hash mismatch for asset: /app/template.mobileapp.js")
        expect(
            format.message(.fileMismatch(try file("app/some-file"))),
            equals: "Hash mismatch for asset: /some-file")
    }

    @Test func `about the manifest and the version`() {
        let format = MeteorFormat()
        expect(
            format.message(.documentStatus(500)),
            equals: "Non-success status code 500 for asset manifest"
        )
        expect(
            format.message(.documentUnreachable("refused")),
            equals: "Error downloading asset manifest: refused")
        expect(format.message(.banned("v")), equals: "Skipping downloading blacklisted version")
        expect(
            format.message(.unmet(Requirement(kind: Requirement.compatibility, value: "c"))),
            equals: "Skipping downloading new version because the Cordova platform version or "
                + "plugin versions have changed and are potentially incompatible")
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
