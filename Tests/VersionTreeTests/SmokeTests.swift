import StorageTestSupport

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
        expect(first.files, equals: 5)
        expect(first.newObjects, equals: 4)
        let second = try temporary.add(
            "2", ["index.html": "two", "lib/a.js": "shared", "run.sh": "#!x"])
        expect(second.newObjects, equals: 1)
        try expect(readTree(temporary.path + "/versions/1")["lib/copy.js"], equals: "shared")
        try versions.activate("1")
        try expect(versions.activate("2"), equals: "1")
        let list = try versions.versions()
        expect(list.map(\.version), equals: ["2", "1"])
        expect(list[0].isCurrent)
        var report = try versions.check()
        expect(report.findings, equals: [])
        expect(report.checkedObjects, equals: 5)
        expect(report.checkedTrees, equals: 2)
        report = try versions.check(CheckOptions(isDeep: true))
        expect(report.findings, equals: [])
        try versions.retire("1")
        try expect(versions.store.planCollection().objectCount, equals: 2)
        let collected = try versions.store.collect()
        expect(collected.objectCount, equals: 2)
        try expect(versions.check().findings, equals: [])
    }
}
