import StorageTestSupport

/// A file beyond 2^32 bytes, all the way through.
///
/// 4 GiB are written, hashed and read again, so it runs only if `CASTREE_TEST_HUGE` is set (`make huge`).
/// `LargeSizeTests` and `LargeRangeTests` calculate with such sizes every time.
@Suite("A file of more than 4 GiB") struct HugeFileTests {
    private static let isAsked = ProcessInfo.processInfo.environment["CASTREE_TEST_HUGE"] != nil

    /// Where something else than zero stands: around 2^31, around 2^32, and at the end.
    private static let marks: [Int64] = [0, (1 << 31) - 2, (1 << 32) - 2, (1 << 32) + 5]
    private static let size: Int64 = (1 << 32) + 9

    private func mark(_ offset: Int64) -> [UInt8] { Array("\(offset % 997 + 1000)".utf8) }

    private func writeSparse(_ path: String) throws {
        try writeTree(path, ["huge.bin": ""])
        let file = open(path + "/huge.bin", O_WRONLY)
        defer { close(file) }
        expect(ftruncate(file, off_t(Self.size)), equals: 0)
        for offset in Self.marks {
            let bytes = mark(offset)
            expect(pwrite(file, bytes, bytes.count, off_t(offset)), equals: bytes.count)
        }
    }

    @Test(.enabled(if: isAsked, "writes 4 GiB: set CASTREE_TEST_HUGE, or make huge"))
    func `is added, read back, served in parts, checked and collected`() async throws {
        let store = try TemporaryStore()
        let source = store.directory.appending("source")
        try writeSparse(source)
        let report = try store.versions.add(directory: source, version: "1")
        expect(report.bytes == Self.size && report.newBytes == Self.size)
        try store.versions.activate("1")
        let entry = try store.versions.manifest(of: "1")[0]
        expect(entry.byteCount, equals: Self.size)
        try read(entry.address, store.versions.store)
        let app = try TestApp(store)
        try serve(app)
        await app.stop()
        let checked = try store.versions.check(CheckOptions(isDeep: true))
        expect(checked.findings.isEmpty && checked.checkedBytes == Self.size)
        try store.add("2", ["index.html": "small"])
        try store.versions.activate("2")
        try store.versions.retire("1")
        try expect(store.versions.collect().byteCount, equals: Self.size)
    }

    private func read(_ address: ObjectID, _ store: Store) throws {
        guard let reader = try store.open(address) else {
            throw Unexpected("the object is not there")
        }
        let size = reader.byteCount
        expect(size, equals: Self.size)
        for offset in Self.marks {
            try expect(reader.read(at: offset, count: 4), equals: mark(offset))
        }
        try expect(reader.read(at: Self.size - 1, count: 100).count, equals: 1)
        try expect(reader.read(at: Self.size, count: 100).isEmpty)
    }

    private func serve(_ app: TestApp) throws {
        let browser = try app.browser()
        for offset in Self.marks {
            let range = "bytes=\(offset)-\(offset + 3)"
            let response = try browser.ask("GET", "/huge.bin", [("Range", range)])
            expect(response.status, equals: 206)
            expect(
                response.value("Content-Range"),
                equals: "bytes \(offset)-\(offset + 3)/\(Self.size)")
            expect(response.body, equals: mark(offset))
        }
        let last = try browser.ask("GET", "/huge.bin", [("Range", "bytes=-2")])
        expect(last.status == 206 && last.body.count == 2)
    }
}
