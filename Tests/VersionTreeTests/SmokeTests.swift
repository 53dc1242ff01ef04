import CASStore
import StorageTestSupport
import Testing
import VersionTree

@Suite struct SmokeTests {
    @Test func `adds two versions, switches, retires, collects and checks clean`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        let versions = temporary.versions
        let first = try temporary.add(
            "1",
            [
                "index.html": "one", "lib/a.js": "shared", "lib/copy.js": "shared", "run.sh": "#!x",
                "empty": "",
            ])
        #expect(first.files == 5)
        #expect(first.newObjects == 4)
        let second = try temporary.add(
            "2", ["index.html": "two", "lib/a.js": "shared", "run.sh": "#!x"])
        #expect(second.newObjects == 1)
        #expect(try readTree(temporary.path + "/versions/1")["lib/copy.js"] == "shared")
        try versions.activate("1")
        #expect(try versions.activate("2") == "1")
        let list = try versions.versions()
        #expect(list.map(\.version) == ["2", "1"])
        #expect(list[0].isCurrent)
        var report = try versions.check()
        #expect(report.findings == [])
        #expect(report.checkedObjects == 5)
        #expect(report.checkedTrees == 2)
        report = try versions.check(CheckOptions(isDeep: true))
        #expect(report.findings == [])
        try versions.retire("1")
        #expect(try versions.store.planCollection().objectCount == 2)
        let collected = try versions.store.collect()
        #expect(collected.objectCount == 2)
        #expect(try versions.check().findings == [])
    }
}
