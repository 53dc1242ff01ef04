import HotPush
import StorageTestSupport

@Suite("A release") struct ReleaseTests {
    @Test func `a file is fetched from its own path unless a format says else`() throws {
        let file = ReleaseFile(path: try TreePath("css/app.css"))
        expect(file.source, equals: "css/app.css")
        expect(file.address == nil)
    }
}
