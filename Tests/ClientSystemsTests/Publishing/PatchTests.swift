import Bsdiff
import BucketTestSupport
import HotPush
import Origin
import Platform
import StorageTestSupport

@testable import ClientSystems

/// What patches are made, kept and deleted: in a directory and in a bucket alike.
@Suite("Patches for Expo's and hot-updater's clients") struct PatchTests {
    @Test(arguments: [PatchPlace.Home.directory, .bucket])
    func `patches lead from what the channel offered to the newest release, and give its files`(
        _ home: PatchPlace.Home
    ) throws {
        let place = try PatchPlace(home)
        try place.publish("1")
        try place.enable(.expo, .hotUpdater)
        for version in ["2", "3"] { try place.publish(version) }
        let patches = try place.patches()
        let newest = try require(patches.releases.last)
        // Two platforms and one path, from each of two releases.
        expect(newest.patches.count { $0.format == .bsdiff40 }, equals: 4)
        expect(newest.patches.count { $0.format == .bsdiff43 } >= 2, "\(newest.patches.count)")
        let files = try place.patchFiles()
        for patch in patches.releases.flatMap(\.patches) {
            let bytes = try require(files[patch.key.path], "\(patch.key.path)")
            try expect(ObjectID(of: bytes) == patch.address)
            let old = try place.object(patch.base)
            let new = try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
                try BsdiffPatch.apply(bytes, to: old, limit: 1 << 24)
            }
            try expect(ObjectID(of: new), equals: patch.object)
        }
        expect(place.notices.all.filter { $0.contains("patch") }.isEmpty)
    }

    @Test(arguments: [PatchPlace.Home.directory, .bucket])
    func `publishing again makes nothing anew, and a lost patch is made again`(
        _ home: PatchPlace.Home
    ) throws {
        let place = try PatchPlace(home)
        try place.publish("1")
        try place.enable(.expo, .hotUpdater)
        try place.publish("2")
        let (patches, files) = (try place.patches(), try place.patchFiles())
        let steps = Mutex<Set<PublishProgress.Step>>([])
        let watched = try place.publisher { options in
            options.progress = { progress in steps.withLock { _ = $0.insert(progress.step) } }
        }
        let commit = try place.publish("2", watched)
        expect(commit.isUnchanged && !steps.withLock { $0.contains(.patching) })
        try expect(place.patches() == patches && place.patchFiles() == files)
        let path = try require(files.keys.sorted().first)
        try place.write(path, Array("damaged".utf8))
        let verifying = try place.publisher { $0.verifiesObjects = true }
        try place.publish("2", verifying)
        let made = try place.patchFiles()
        expect(made[path], equals: files[path])
    }

    @Test func `no patches are made without the option, and existing ones are kept`() throws {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        try place.publish("2", place.publisher(nil))
        try expect(place.patchFiles().isEmpty && place.patches().releases.isEmpty)
        try place.publish("2")
        let files = try place.patchFiles()
        expect(files.count, equals: 2)
        try place.publish("3", place.publisher(nil))
        try expect(place.patchFiles(), equals: files)
    }

    @Test func `a version that is offered before its packs is offered before its patches`() throws {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        let delaying = try place.publisher { options in
            var announcing = place.announcing()
            announcing.delaysPatches = true
            options.announcing = announcing
        }
        try place.publish("2", delaying)
        try expect(place.patchFiles().isEmpty)
        // The commit of its packs; here, of the same version again.
        try place.publish("2", delaying)
        try expect(place.patchFiles().count, equals: 2)
    }

    @Test func `nobody looks for patches between files that do not shrink`() throws {
        let place = try PatchPlace()
        var random = SeededRandom(seed: 3)
        for version in ["a", "b"] {
            let root = place.store.directory.appending("source-\(version)")
            try writeTree(root, PatchPlace.files(1))
            try Data(random.bytes(90_000)).write(to: URL(filePath: root + "/film.mp4"))
            _ = try place.versions.add(directory: root, version: version)
        }
        try place.publish("a")
        try place.enable(.hotUpdater)
        let steps = Mutex<Set<PublishProgress.Step>>([])
        try place.publish(
            "b",
            place.publisher { options in
                options.progress = { progress in steps.withLock { _ = $0.insert(progress.step) } }
            })
        expect(!steps.withLock { $0.contains(.patching) })
    }

    @Test func `rows of patches never fill an entry of the log`() throws {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        try place.publish("2")
        let known = try place.patches()
        let patch = try require(known.releases.last?.patches.first)
        var many = known
        for number in 1...8 {
            var release = PatchedRelease(
                createdAt: Int64(number), content: try ObjectID(of: [UInt8(number)]))
            release.patches = [ClientPatch](repeating: patch, count: PatchedRelease.patchCountMax)
            many.releases.append(release)
        }
        many.fit(after: known)
        let rows = many.releases.dropFirst(known.releases.count)
        expect(rows.reduce(0) { $0 + $1.byteCount } < 400 << 10)
        // The newest keep theirs.
        expect(rows.last?.patches.count, equals: PatchedRelease.patchCountMax)
        expect(rows.first?.patches.count, equals: 0)
    }

    @Test func `patches lead from at most five releases, those that are still listed`() throws {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        for number in 2...8 {
            try place.publish("\(number)", number < 8 ? place.publisher(nil) : nil)
        }
        let newest = try require(try place.patches().releases.last)
        let contents = try Set(
            ["3", "4", "5", "6", "7"].map { version in
                try place.versions.registeredManifest(of: version).contentAddress().description
            })
        expect(Set(newest.patches.map(\.from)), equals: contents)
    }

    @Test(arguments: [PatchPlace.Home.directory, .bucket])
    func `a prune keeps patches that a client can need, and deletes the others`(
        _ home: PatchPlace.Home
    ) throws {
        let place = try PatchPlace(home)
        try place.publish("1")
        try place.enable(.expo)
        for version in ["2", "3"] { try place.publish(version) }
        func prune(_ count: Int) throws {
            place.clock.advance(10)
            place.bucket.clock.advance(10)
            _ = try OriginPruner(place.publisher(nil)).prune(keeping: count, grace: 0)
        }
        let files = try place.patchFiles()
        try prune(9)
        try expect(place.patchFiles(), equals: files)
        // Only the newest two are offered from now on.
        for version in ["4", "5", "6"] {
            try prune(2)
            try place.publish(version)
        }
        for _ in 0..<4 { try prune(2) }
        let left = try Set(place.patchFiles().keys)
        let kept = try place.patches().releases.flatMap(\.patches)
        expect(!kept.isEmpty && left.isSuperset(of: kept.map(\.key.path)))
        expect(left.isDisjoint(with: files.keys), "\(left.count)")
    }

    @Test func `a publisher that is killed leaves an origin that answers, and can be repeated`()
        throws
    {
        for count in stride(from: 0, to: 5_000, by: 29) {
            let place = try PatchPlace(versions: 2)
            try place.publish("1")
            try place.enable(.expo)
            let disk = FaultyFileSystem()
            disk.arm(.stop(after: count))
            // It was killed.
            _ = try? place.publish("2", place.publisher(on: disk))
            let isOver = !disk.hasFired
            let base = try place.id(of: "1")
            let answer = try place.answers().asked(place, from: base)
            expect([nil, 200, 226, 404].contains(answer?.status), "\(count)")
            try place.publish("2")
            try expect(place.answers().launch(place, from: base).status == 226, "\(count)")
            if isOver { return }
        }
    }

    @Test(arguments: [false, true])
    func `a publisher of a bucket that is killed offers no wrong patch, and can be repeated`(
        _ isApplied: Bool
    ) throws {
        let place = try PatchPlace(.bucket, versions: 2)
        try place.publish("1")
        try place.enable(.expo)
        let (base, prepared) = (try place.id(of: "1"), place.bucket)
        let share = TestShare(oneIn: 7, of: "patches in a bucket \(isApplied)")
        let count = try share.count { number in
            place.bucket = ModelStore(copying: prepared)
            let once = Once(at: number + 1, .end(isApplied: isApplied))
            place.schedule = { once($0) }
            // It was killed.
            _ = try? place.publish("2")
            place.schedule = { _ in .answered }
            try place.checkPatches("\(number)")
            let answer = try place.mirrored("killed \(number)").asked(place, from: base)
            expect([nil, 200, 226, 404].contains(answer?.status), "\(number)")
            try place.publish("2")
            try place.checkPatches("\(number), repeated")
            let repeated = try place.mirrored("repeated \(number)").launch(place, from: base)
            expect(repeated.status, equals: 226, "\(number)")
            return once.wasReached
        }
        expect(count > 10 && count < 500, "\(count)")
    }

    @Test func `interrupting leaves what was offered`() throws {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        let isStopped = Mutex(false)
        let publisher = try place.publisher { options in
            options.progress = { progress in
                if progress.step == .patching { isStopped.withLock { $0 = true } }
            }
            options.isInterrupted = { isStopped.withLock { $0 } }
        }
        expectRefusal(.interrupted, saying: "offers what it did before") {
            try place.publish("2", publisher)
        }
        try expect(place.patchFiles().isEmpty)
    }

    @Test func `a bundle that apps were shipped with is a base only if the operator says so`()
        throws
    {
        let place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo)
        try place.publish("2")
        let id = "0b7c3f3e-7c58-4d5c-8a53-2d9a4c3f1b11"
        let answers = try place.answers()
        try expect(answers.launch(place, from: id).status, equals: 200)
        let bundle = try ShippedScript(
            platform: "ios", id: id.uppercased(), bytes: Array(PatchPlace.script(9).utf8))
        try place.publish("2", place.publisher(PatchAnnouncing(from: [bundle])))
        let answer = try answers.launch(place, from: id)
        expect(answer.status, equals: 226)
        let new = try bundle.bytes.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try BsdiffPatch.apply(answer.bytes, to: old, limit: 1 << 24)
        }
        expect(String(decoding: new, as: UTF8.self), equals: PatchPlace.script(2))
        // Named wrongly before: the right one takes its place.
        let right = try ShippedScript(
            platform: "ios", id: id, bytes: Array(PatchPlace.script(8).utf8))
        try place.publish("2", place.publisher(PatchAnnouncing(from: [right])))
        let corrected = try place.answers().launch(place, from: id)
        let again = try right.bytes.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try BsdiffPatch.apply(corrected.bytes, to: old, limit: 1 << 24)
        }
        expect(again == new)
        #expect(throws: StoreError.self) {
            try ShippedScript(platform: "web", id: id, bytes: bundle.bytes)
        }
    }
}

/// What clients are answered that say what they run.
@Suite("Answers with patches") struct PatchAnswerTests {
    private let place: PatchPlace
    private let answers: OriginAnswers

    init() throws {
        place = try PatchPlace()
        try place.publish("1")
        try place.enable(.expo, .hotUpdater)
        try place.publish("2")
        answers = try place.answers()
    }

    @Test func `Expo's clients get a patch only if they ask for one, and run a known update`()
        throws
    {
        let base = try place.id(of: "1")
        let patch = try answers.launch(place, from: base)
        expect(patch.status, equals: 226)
        expect(patch.field("im"), equals: "bsdiff")
        expect(patch.field("expo-base-update-id"), equals: base)
        expect(patch.field("cache-control"), equals: "private, max-age=0")
        expect(patch.field("vary"), equals: "A-IM, Expo-Current-Update-ID")
        expect(patch.field("content-encoding"), equals: nil)
        let old = Array(PatchPlace.script(1).utf8)
        let new = try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try BsdiffPatch.apply(patch.bytes, to: old, limit: 1 << 24)
        }
        expect(String(decoding: new, as: UTF8.self), equals: PatchPlace.script(2))
        for (manipulations, current, status) in [
            (["bsdiff"], base.uppercased(), 226), (["BSDIFF"], base, 226),
            (["vcdiff, bsdiff ;q=0.5"], base, 226), (["gzip", "bsdiff"], base, 226),
            ([], base, 200), (["vcdiff"], base, 200), (["bsdiff40"], base, 200),
            (["bsdiff;q=0"], base, 200), (["bsdiff; q = 0.00"], base, 200), (["bsdiff"], nil, 200),
            (["bsdiff"], "", 200),
            (["bsdiff"], "00000000-0000-0000-0000-000000000000", 200),
            (["bsdiff"], try place.id(of: "2"), 200), (["bsdiff"], base + "x", 200),
            // What the other platform runs is no base.
            (["bsdiff"], try place.id(of: "1", on: "android"), 200),
        ] as [([String], String?, Int)] {
            let answer = try answers.launch(place, manipulations, from: current)
            expect(answer.status == status, "\(manipulations) \(current ?? "-") \(answer.status)")
            expect(answer.field("vary")?.contains("A-IM, Expo-Current-Update-ID") == true)
            if status == 200 { expect(answer.field("im") == nil) }
        }
    }

    @Test func `another channel that cannot be read keeps no file from a client`() throws {
        let configuration = try ExpoTree.configuration(["": "stable", "beta": "beta"])
        _ = try place.announcing(nil).enable(
            configuration, by: place.publisher(nil), with: place.versions)
        let base = try place.id(of: "1")
        try place.write("for/expo/beta.json", Array("{".utf8))
        let unknown = "00000000-0000-0000-0000-000000000000"
        try expect(place.answers().launch(place, from: unknown).status, equals: 200)
        try expect(place.answers().launch(place, from: base).status, equals: 226)
    }

    @Test func `a patch that is wrong or missing gives the whole file, and is reported`() throws {
        let base = try place.id(of: "1")
        for damage in [Array("damaged".utf8), nil] {
            for path in try place.patchFiles().keys { try place.write(path, damage) }
            let told = Notices()
            let fresh = try place.answers(told)
            let answer = try fresh.launch(place, from: base)
            expect(answer.status == 200 && answer.field("im") == nil)
            if damage != nil { expect(told.all.contains { $0.contains("do not match its name") }) }
        }
        try place.write(ClientPatches.path(of: .stable), Array("{".utf8))
        let told = Notices()
        try expect(place.answers(told).launch(place, from: base).status, equals: 200)
        expect(told.all.contains { $0.contains("is no list of patches") }, "\(told.all)")
    }

    @Test func `hot-updater's clients are told patches beside whole files`() throws {
        let current = try place.bundleID(of: "1")
        let text = try answers.text(
            "/for/hot-updater/app-version/ios/1.0.0/production/\(HotUpdaterCheck.builtIn)/\(current)"
        )
        let answer = try JSONValue.parse(Array(text.utf8))
        let change = try require(answer["changedAssets"]?["index.ios.bundle"])
        expect(change["file"]?["url"]?.asString?.contains("/objects/") == true)
        let patch = try require(change["patch"])
        expect(
            Set((patch.asObject ?? []).map(\.key)),
            equals: [
                "algorithm", "baseBundleId", "baseFileHash", "patchFileHash", "patchUrl",
            ])
        expect(patch["algorithm"]?.asString, equals: "bsdiff")
        expect(patch["baseBundleId"]?.asString, equals: current)
        let old = Array(PatchPlace.script(1).utf8)
        try expect(patch["baseFileHash"]?.asString, equals: ObjectID(of: old).description)
        let url = try require(patch["patchUrl"]?.asString)
        expect(url.hasPrefix(ExpoTree.baseURL))
        let sent = try require(
            try answers.answer(
                ClientRequest("GET", String(url.dropFirst(ExpoTree.baseURL.count))), mayRead: true))
        guard case .bytes(let bytes) = sent.body else { return expect(false) }
        try expect(patch["patchFileHash"]?.asString, equals: ObjectID(of: bytes).description)
        let new = try old.span.bytes.withUnsafeBytes { (old) throws(StoreError) in
            try BsdiffPatch.apply(bytes, to: old, limit: 1 << 24)
        }
        try expect(change["fileHash"]?.asString, equals: ObjectID(of: new).description)
        // What is small or new has none.
        let small = try require(answer["changedAssets"]?["small.txt"])
        expect(small["patch"] == nil && small["file"] != nil)
        let none = String(repeating: "0", count: 64)
        try expect(answers.text("/for/hot-updater/patches/\(none)"), equals: "404")
        try expect(answers.text("/for/hot-updater/patches/x"), equals: "404")
    }

    @Test func `update checks wait for no patch`() throws {
        let current = try place.bundleID(of: "1")
        let path =
            "/for/hot-updater/app-version/ios/1.0.0/production/\(HotUpdaterCheck.builtIn)/\(current)"
        let first = try answers.text(path)
        // From memory.
        try expect(answers.text(path, mayRead: false), equals: first)
    }

    @Test func `a mirror of a bucket has the patches, and answers without those that do not come`()
        throws
    {
        let place = try PatchPlace(.bucket)
        try place.publish("1")
        try place.enable(.expo)
        try place.publish("2")
        let base = try place.id(of: "1")
        try expect(place.mirrored("one").launch(place, from: base).status, equals: 226)
        for path in try place.patchFiles().keys { try place.write(path, nil) }
        let answer = try place.mirrored("two").launch(place, from: base)
        expect(answer.status, equals: 200)
    }
}

/// An answer of an origin, whole.
struct LaunchAnswer {
    var status: Int
    var fields: [ClientRequest.Field]
    var bytes: [UInt8]

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

extension OriginAnswers {
    func launch(
        _ place: PatchPlace, _ manipulations: [String] = ["bsdiff"], from current: String?
    ) throws -> LaunchAnswer {
        try require(try asked(place, manipulations, from: current))
    }

    /// The answer to Expo's request for the launch script of version 2 on iOS.
    func asked(
        _ place: PatchPlace, _ manipulations: [String] = ["bsdiff"], from current: String?
    ) throws -> LaunchAnswer? {
        let manifest = try place.store.versions.registeredManifest(of: "2")
        let script = try require(manifest[TreePath("_expo/static/js/ios/A.hbc")])
        var fields = manipulations.map { ClientRequest.Field("a-im", $0) }
        if let current { fields.append(.init("expo-current-update-id", current)) }
        let path = ExpoAsset.path(
            script.address, of: try manifest.contentAddress(), ending: ExpoAsset.launchEnding)
        let answer = try answer(ClientRequest("GET", path, fields: fields), mayRead: true)
        guard let answer else { return nil }
        if case .bytes(let bytes) = answer.body {
            return LaunchAnswer(status: answer.status, fields: answer.fields, bytes: bytes)
        }
        return LaunchAnswer(status: answer.status, fields: answer.fields, bytes: [])
    }
}
