import Archives
import HotPush
import Origin
import StorageTestSupport

@testable import ClientSystems

@Suite struct CodePushPackageTests {
    private func package(
        _ files: [String: String], folder: String = "CodePush", signature: String? = nil,
        in origin: inout ModelOrigin
    ) throws -> CodePushPackage {
        let version = try origin.add("1", files)
        let content = try require(origin.contents[version.content])
        return CodePushPackage(content, folder: folder, signature: signature)
    }

    private func hash(_ files: [String: String], folder: String = "CodePush") throws -> String {
        var origin = ModelOrigin()
        return try package(files, folder: folder, in: &origin).hash().description
    }

    @Test func `The package hash is the one that CodePush's clients compute`() throws {
        try expect(
            hash(["index.html": "hello", "sub/ü.txt": "ü", "empty": ""]),
            equals: "2003f7fbee143520cfa93012e9b5344ef69776bdca4de1637c387e8b11035913")
        // The same over the lines themselves, for paths that UTF-8 and UTF-16 order differently.
        let files = ["a/\u{FFEE}": "1", "a/\u{1F600}": "2", "a/z": "3"]
        var lines = files.map { "www/\($0):\(SHA.hex($1))" }
        lines.sort { Array($0.utf16).lexicographicallyPrecedes(Array($1.utf16)) }
        expect(lines[1].contains("\u{1F600}"))
        let text = "[" + lines.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        try expect(hash(files, folder: "www"), equals: SHA.hex(text))
    }

    @Test func `Finder's files and the signature do not count, whatever folder they are in`() throws
    {
        let plain = try hash(["index.html": "hello"])
        try expect(
            hash(["index.html": "hello", ".DS_Store": "x", "a/.DS_Store": "y"]), equals: plain)
        try expect(hash(["index.html": "hello", ".codepushrelease": "jwt"]), equals: plain)
        // Below the folder it is an ordinary name to the clients, which look at the beginning of the whole path.
        try expect(hash(["index.html": "hello", "__MACOSX/a": "z"]) != plain)
        expect(CodePushPackage.isIgnored("__MACOSX/a"))
        expect(!CodePushPackage.isIgnored("CodePush/a.DS_Store"))
    }

    @Test func `The archive has every file below the folder, and the signature`() throws {
        var origin = ModelOrigin()
        let package = try package(
            ["index.html": "hello", "a/b.js": "b"], folder: "www", signature: "jwt", in: &origin)
        let files = try origin.files(in: package.archive())
        expect(
            files.mapValues { String(decoding: $0, as: UTF8.self) },
            equals: ["www/index.html": "hello", "www/a/b.js": "b", "www/.codepushrelease": "jwt"])
    }

    /// A client's directory: what is at each path, `nil` for a directory.
    private typealias Device = [String: [UInt8]?]

    private func put(_ files: [String: [UInt8]], on device: inout Device) -> Bool {
        for (path, bytes) in files {
            var parent = path[...]
            while let slash = parent.lastIndex(of: "/") {
                parent = parent[..<slash]
                if let here = device[String(parent)], here != nil { return false }
                device[String(parent)] = .some(nil)
            }
            if let here = device[path], here == nil { return false }
            device[path] = bytes
        }
        return true
    }

    private func device(with files: [String: [UInt8]]) throws -> Device {
        var device: Device = [:]
        expect(put(files, on: &device))
        return device
    }

    /// What clients do with a difference: copy what they have, delete what the list says, put the files over it.
    ///
    /// Cordova's delete last, and only files. `nil` where they fail.
    private func applied(
        _ difference: [String: [UInt8]], to base: Device, asCordova: Bool
    ) throws -> Device? {
        var device = base
        var files = difference
        let list = try JSONValue.parse(files.removeValue(forKey: "hotcodepush.json") ?? [])
        if asCordova, !put(files, on: &device) { return nil }
        for path in try require(list["deletedFiles"]?.asArray) {
            let path = try require(path.asString)
            // All that is named is there.
            let here = try require(device[path])
            if here == nil {
                if asCordova { continue }
                expect(!device.keys.contains { $0.hasPrefix(path + "/") })
            }
            device[path] = nil
        }
        if !asCordova, !put(files, on: &device) { return nil }
        return device
    }

    @Test
    func `A difference makes the new tree of the old one, for all pairs of small trees`() throws {
        var origin = ModelOrigin()
        var packages: [CodePushPackage] = []
        for number in 0..<54 {
            // "d!" and "d-" stand between "d" and "d/x", byte by byte.
            var files: [String: String] = ["index.html": "0", "d!": "0", "d-": "0"]
            let texts = [nil, "1", "2"]
            files["a"] = texts[number % 3]
            files["b c"] = texts[number / 3 % 3]
            files[number / 27 == 0 ? "d/x" : "d"] = texts[number / 9 % 3]
            packages.append(try package(files, in: &origin))
        }
        var failures: [String] = []
        for (from, base) in packages.enumerated() {
            let old = try origin.files(in: base.archive())
            let device = try self.device(with: old)
            for (to, package) in packages.enumerated() {
                let new = try origin.files(in: package.archive())
                guard let difference = try package.difference(from: base) else {
                    // Only where a file takes a directory's place, or the other way round.
                    let isBlocked = [(old, new), (new, old)].contains {
                        $0["CodePush/d/x"] != nil && $1["CodePush/d"] != nil
                    }
                    if !isBlocked { failures.append("\(from) to \(to): none") }
                    continue
                }
                let files = try origin.files(in: difference)
                let same = files.filter { old[$0.key] == $0.value }
                for asCordova in [false, true] {
                    let after = try applied(files, to: device, asCordova: asCordova)
                    if after?.compactMapValues({ $0 }) != new || !same.isEmpty {
                        failures.append("\(from) to \(to), Cordova: \(asCordova)")
                    }
                }
            }
        }
        expect(failures, equals: [])
    }

    @Test func `Differences one after the other leave nothing that is in the way of a later one`()
        throws
    {
        var origin = ModelOrigin()
        let trees = [["d/x"], ["d/e/y", "d/e/f/z"], ["d/x", "d/e/y"], [], ["d"], ["d/e"]]
        let packages = try trees.map { paths in
            var files = ["index.html": "0"]
            for path in paths { files[path] = "1" }
            return try package(files, in: &origin)
        }
        var count = 0
        for first in packages {
            for second in packages {
                guard let one = try second.difference(from: first) else { continue }
                let device = try self.device(with: origin.files(in: first.archive()))
                let middle = try require(
                    try applied(origin.files(in: one), to: device, asCordova: false))
                for third in packages {
                    guard let two = try third.difference(from: second) else { continue }
                    let after = try applied(origin.files(in: two), to: middle, asCordova: false)
                    try expect(after, equals: self.device(with: origin.files(in: third.archive())))
                    count += 1
                }
            }
        }
        expect(count, equals: 106)
    }

    /// The hash as clients on iOS compute it: of as many bytes as the list has UTF-16 units.
    private func hashOnIOS(_ files: [String: [UInt8]]) throws -> String {
        let lines = try files.map { "\"\($0.key):\(try ObjectID(of: $0.value))\"" }
        let list = "[" + lines.sorted().joined(separator: ",") + "]"
        return try ObjectID(of: Array(list.utf8.prefix(list.utf16.count))).description
    }

    @Test func `Where clients on iOS compute another hash, there is no difference to check`() throws
    {
        var origin = ModelOrigin()
        for name in ["b", "ü", "b\u{7f}", "d/日本", "d/a\u{301}/x", "😀"] {
            let base = try package(["a": "0", name: "1"], in: &origin)
            // The file need not change: the hash is one of all names.
            let new = try package(["a": "1", name: "1"], in: &origin)
            let other = try package(["a": "1"], in: &origin)
            let isRight =
                try hashOnIOS(origin.files(in: new.archive())) == new.hash().description
            expect((try new.difference(from: base) != nil), equals: isRight, "\(name)")
            try expect(other.difference(from: new) != nil, "\(name)")
        }
    }

    @Test func `A file that only becomes executable is in the difference`() throws {
        var origin = ModelOrigin()
        let old = try origin.add("1", ["run": "x"])
        let new = try origin.add("2", ["run": "x"], executables: ["run"])
        let base = CodePushPackage(try require(origin.contents[old.content]), folder: "CodePush")
        let package = CodePushPackage(try require(origin.contents[new.content]), folder: "CodePush")
        let difference = try package.difference(from: base)
        let members = try require(difference).members
        expect(members.map(\.path), equals: ["CodePush/run", "hotcodepush.json"])
        expect(members.map(\.isExecutable), equals: [true, false])
    }

    @Test func `A file with a deflated copy is sent deflated, an empty one as it is`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("1", ["a": "aaaa", "empty": ""])
        let (facts, deflatedCopy) = (try ObjectFacts(of: Array("aaaa".utf8)), try ObjectID(of: [1]))
        origin.addDeflatedCopy(Reference(address: deflatedCopy, byteCount: 3), of: facts.address)
        var content = try require(origin.contents[version.content])
        let members = try CodePushPackage(content, folder: "www").archive().members
        expect(
            members.map(\.content), equals: [.deflatedCopy(deflatedCopy, byteCount: 3), .bytes([])])
        expect(members.map(\.crc32), equals: [facts.crc32, 0])
        content.facts = ContentFacts([])
        #expect(throws: StoreError.self) { try CodePushPackage(content, folder: "www").archive() }
    }

    @Test func `Roll-outs choose the clients that CodePush's server chooses`() {
        let table: [(String, Int64, Int64)] = [
            ("client-1-v1", -221_916_583, 83), ("client-2-v1", -221_886_792, 92),
            ("abc-v22", 3_087_052_107, 7),
            ("00000000-0000-0000-0000-000000000000-v100", -8_691_885_272, 72),
            ("ünï-v3", -1_266_634_227, 27), ("", 0, 0),
        ]
        for (text, hash, bucket) in table {
            expect(CodePushRollout.hash(of: text), equals: hash)
            expect(CodePushRollout.bucket(of: text), equals: bucket)
        }
        func selects(_ client: String?, _ perMille: Int) -> Bool {
            CodePushRollout.selects(client, Rollout(perMille: perMille, salt: "s"), label: "v22")
        }
        expect(!selects("abc", 79) && selects("abc", 80) && selects("abc", 89))
        expect(!selects(nil, 999) && selects(nil, 1000) && !selects("abc", 9))
        expect(CodePushRollout.selects(nil, nil, label: "v1"))
        // Long names neither stop the program nor leave what JavaScript's numbers keep apart.
        let long = CodePushRollout.hash(of: String(repeating: "\u{FFFF}", count: 70_000))
        expect(long.magnitude < 1 << 53)
    }

    @Test func `A signed release has a JWT over its hash, in the archive and in each difference`()
        throws
    {
        var model = CodePushModel()
        try model.publish("1")
        let offer = try model.publish("2", signer: ModelSigner())
        let signature = try require(offer.signatures["package"])
        let parts = signature.split(separator: ".").map(String.init)
        try require(parts.count == 3)
        func decoded(_ part: String) throws -> String {
            var text = part.replacing("-", with: "+").replacing("_", with: "/")
            while text.utf8.count % 4 != 0 { text += "=" }
            return String(decoding: try require(Base64.bytes(text)), as: UTF8.self)
        }
        try expect(decoded(parts[0]), equals: #"{"alg":"RS256","typ":"JWT"}"#)
        let hash = try require(offer.packageHash)
        try expect(decoded(parts[1]), equals: #"{"claimVersion":"1.0.0","contentHash":"\#(hash)"}"#)
        try expect(decoded(parts[2]), equals: "key signs \(parts[0]).\(parts[1])")
        let first = try require(model.origin.histories.values.first?.offers.first)
        for query in ["", first.query] {
            let update = try require(try model.update(query))
            let url = update["download_url"]?.asString
            let files = try require(try model.archive(at: url))
            expect(files["CodePush/.codepushrelease"], equals: Array(signature.utf8))
            expect(update["package_hash"]?.asString, equals: hash)
        }
        // Another key gives other bytes, and so another URL.
        var other = CodePushModel()
        try other.publish("1")
        try other.publish("2", signer: ModelSigner(key: "other"))
        try expect(other.update()?["download_url"] != model.update()?["download_url"])
    }
}

/// SHA-256 as lower-case hexadecimal digits.
enum SHA {
    static func hex(_ text: String) -> String {
        (try? ObjectID(of: Array(text.utf8)).description) ?? ""
    }
}
