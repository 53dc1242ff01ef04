import HotPush
import StorageTestSupport

/// A format of somebody else, as docs/for-plugin-authors.md describes it: a list of paths, no digests.
private struct ListFormat: ReleaseFormat {
    let name = "list"
    let number = 1

    func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        [ReleaseDocument(path: "files.txt", accept: "text/plain")]
    }

    func recognizes(_ bytes: [UInt8]) -> Bool { false }

    func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        var release = Release(
            family: family, version: try VersionName(lines.first ?? ""), trust: .length,
            received: bytes)
        for path in lines.dropFirst() {
            release.files.append(ReleaseFile(path: try TreePath(path), source: "app/" + path))
        }
        return release
    }
}

@Suite("A format of one's own") struct OwnFormatTests {
    @Test
    func `is pulled from like castree's own, and its documents are kept with the version`() throws {
        let fixture = try PullingFixture()
        fixture.origin.replaceAll([
            "/files.txt": Content("7\nindex.html\njs/app.js\n", type: "text/plain"),
            "/app/index.html": Content("<h1>seven</h1>"), "/app/js/app.js": Content("run(7)"),
        ])
        let report = try fixture.run { $0.reader = ListFormat() }
        expect(report.version == "7" && report.figures.files == 2)
        try expect(
            fixture.tree("7"), equals: ["index.html": "<h1>seven</h1>", "js/app.js": "run(7)"])
        try expect(fixture.device.reopened().manifest(of: "7").received?.format, equals: "list/1")
        try fixture.expectClean()
    }
}
