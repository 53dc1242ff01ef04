import HotPush
import StorageTestSupport

/// What an origin may send, on purpose or by accident: nothing of it is shown, and the device continues
/// showing what it shows.
@Suite("A pull from a hostile origin") struct HostileOriginTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let place: Place
    private var origin: String { place.beside + "/origin" }

    init() throws {
        place = try PowerCuts.prepared(.pull, in: directory)
        // The objects are what is wrong here; packs would bring them right.
        Damage.remove(place.beside + "/origin/packs")
    }

    private func pull() throws { try Scenario.pull.run(place, POSIXFileSystem(), false) }

    private func files(in name: String) -> [String] {
        Damage.names(origin + "/" + name).map { origin + "/" + name + "/" + $0 }.filter {
            var isDirectory: ObjCBool = false
            return FileManager.default.fileExists(atPath: $0, isDirectory: &isDirectory)
                && !isDirectory.boolValue
        }
    }

    private func object(_ text: String) throws -> String {
        let digits = try address(of: text).description
        return try require(
            files(in: "objects").first { $0.replacing("/", with: "").hasSuffix(digits) })
    }

    /// Expects that a pull is refused, that version 0 continues being shown, and nothing else is complete.
    private func expectRefusal(_ comment: Comment) throws {
        #expect(throws: StoreError.self, comment) { try pull() }
        let versions = try place.open()
        try expect(versions.lifecycle().current, equals: "0", comment)
        try expect(readTree(place.store + "/versions/0"), equals: Place.contents["0"], comment)
        try expect(
            versions.versions().filter { $0.state != .incomplete }.map(\.version), equals: ["0"],
            comment)
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [], comment)
    }

    /// The origin's own state again, and then the pull ends well.
    private func expectSuccess() throws {
        try pull()
        try expect(place.open().lifecycle().current, equals: "1")
        try expect(readTree(place.store + "/versions/1"), equals: Place.contents["1"])
        try expect(place.open().check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test func `refuses a manifest with a bit of every 17th byte flipped`() throws {
        let path = try require(files(in: "manifests").first)
        let bytes = try Damage.contents(path)
        for offset in stride(from: 0, to: bytes.count, by: 17) {
            var flipped = bytes
            flipped[offset] ^= 1 << UInt8(offset % 8)
            try Damage.overwrite(path, with: flipped)
            try expectRefusal("bit \(offset % 8) of byte \(offset)")
        }
        try Damage.overwrite(path, with: bytes)
        try expectSuccess()
    }

    @Test(
        "refuses a manifest or a pointer that is cut at every 23rd byte, empty or longer",
        arguments: ["manifests", "channels"])
    func cut(_ kind: String) throws {
        let path = try require(files(in: kind).first)
        let bytes = try Damage.contents(path)
        for count in stride(from: 0, to: bytes.count - 1, by: 23) {
            try Damage.overwrite(path, with: Array(bytes[..<count]))
            try expectRefusal("\(kind) cut to \(count)")
        }
        try Damage.overwrite(path, with: bytes + Array("x".utf8))
        try expectRefusal("\(kind) and a letter")
        try Damage.overwrite(path, with: bytes)
        try expectSuccess()
    }

    enum Wrong: CaseIterable, Sendable {
        case flipped, longer, shorter, empty, another, missing, directory, endless, swapped
    }

    @Test(arguments: Wrong.allCases)
    func `refuses content that is not what the manifest says`(_ wrong: Wrong) throws {
        let path = try object("hello")
        let bytes = try Damage.contents(path)
        switch wrong {
        case .flipped: try Damage.flip(path, at: 1)
        case .longer: try Damage.extend(path, by: [0])
        case .shorter: try Damage.truncate(path, to: 4)
        case .empty: try Damage.truncate(path, to: 0)
        case .another: try Damage.overwrite(path, with: Damage.contents(object("#!one")))
        case .missing: try Damage.replace(path, by: .nothing)
        case .directory: try Damage.replace(path, by: .directory)
        case .endless: try Damage.replace(path, by: .symbolicLink("/dev/zero"))
        case .swapped:
            let other = try object("#!one")
            let others = try Damage.contents(other)
            try Damage.overwrite(other, with: bytes)
            try Damage.overwrite(path, with: others)
        }
        try expectRefusal("\(wrong)")
        if wrong == .swapped { try Damage.overwrite(object("hello"), with: bytes) }
        Damage.remove(path)
        try Damage.overwriteOrCreate(path, with: bytes)
        if wrong == .swapped {
            let digits = try address(of: "#!one").description
            let other = try require(
                files(in: "objects").first { $0.replacing("/", with: "").hasSuffix(digits) })
            try Damage.overwrite(other, with: Array("#!one".utf8))
        }
        try expectSuccess()
    }
}
