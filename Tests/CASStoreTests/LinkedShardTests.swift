import StorageTestSupport

/// What a link in place of a directory of `objects/` leads to is not the store's: nothing is written there, nothing
/// deleted, whoever made the link.
@Suite struct LinkedShardTests {
    enum Verb: String, CaseIterable, Sendable {
        case add, addMany, collect, retireAndCollect, activate, checkout, check, repair

        func run(_ temporary: TemporaryStore) throws {
            let versions = temporary.versions
            switch self {
            case .add: try temporary.add("3", ["page": "needed", "run": "#!run"])
            case .addMany:
                var files = ["page": "needed", "run": "#!run"]
                for number in 0..<300 { files["f\(number)"] = "content \(number)" }
                try temporary.add("3", files)
            case .collect: _ = try versions.collect()
            case .retireAndCollect:
                _ = try versions.retire("2")
                _ = try versions.collect()
            case .activate: _ = try versions.activate("2")
            case .checkout:
                _ = try versions.checkout(
                    "2", to: temporary.directory.appending("out"), mode: .copy)
            case .check: _ = try versions.check(CheckOptions(isDeep: true))
            case .repair: _ = try versions.check(repairing: true)
            }
        }
    }

    /// The files and directories below a path, with what is in them.
    private func everything(_ path: String) throws -> [String: Data?] {
        var found: [String: Data?] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            found[name] = FileManager.default.contents(atPath: path + "/" + name)
        }
        return found
    }

    @Test(arguments: Verb.allCases, ["needed", "#!run"])
    func `nothing is written or deleted behind it by`(_ verb: Verb, _ content: String) throws {
        for (stranger, isGone) in [("file", false), ("directory", false), ("file", true)] {
            let temporary = try TemporaryStore(adding: "1", ["page": "other"])
            try temporary.add("2", ["page": "needed", "run": "#!run"])
            try temporary.versions.activate("1")
            let object = temporary.objectPath(try address(of: content))
            let shard = (object as NSString).deletingLastPathComponent
            let name = (object as NSString).lastPathComponent
            let outside = temporary.directory.appending("outside")
            for name in [name, name + ".x"] {
                let path = stranger == "file" ? name : name + "/deep/file"
                try writeTree(outside, [path: "somebody's"])
            }
            try FileManager.default.removeItem(atPath: shard)
            try FileManager.default.createSymbolicLink(atPath: shard, withDestinationPath: outside)
            if isGone { try FileManager.default.removeItem(atPath: temporary.path + "/versions/2") }
            let before = try everything(outside)
            // What it says is another matter; an error is as good.
            try? verb.run(temporary)
            try expect(everything(outside), equals: before, "\(stranger), \(isGone)")
        }
    }

    /// So many bytes of noise; what else may stand there, DerivedIndexTests has.
    @Test(arguments: [0, 1, 255, 256, 257, 4095, 4096, 4097, 5000, 1 << 20])
    func `a store opens whose stamp is`(_ byteCount: Int) throws {
        let temporary = try TemporaryStore(adding: "1", ["page": "needed"])
        try Damage.replace(temporary.path + "/stamp", by: .emptyFile)
        let noise = [UInt8](repeating: 0x5a, count: byteCount)
        try Damage.overwrite(temporary.path + "/stamp", with: noise)
        for _ in 0..<2 {
            let versions = try temporary.reopened()
            try expect(versions.versions().map(\.version), equals: ["1"])
            try expect(versions.check(repairing: true).findings.allSatisfy(\.isRepaired))
        }
        try expect(temporary.reopened().check().findings, equals: [])
        try temporary.add("2", ["page": "more"])
    }

    /// The directories that a store is made of.
    private static let parts = [
        "objects", "staging", "quarantine", "manifests", "versions", "leases",
    ]

    @Test(arguments: parts, ["a file", "a link"])
    func `it is said what stands in place of the directory`(_ name: String, _ kind: String) throws {
        let temporary = try TemporaryStore(adding: "1", ["page": "needed"])
        let path = temporary.path + "/" + name
        let elsewhere = temporary.directory.appending("elsewhere")
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        try Damage.replace(path, by: kind == "a file" ? .emptyFile : .symbolicLink(elsewhere))
        expectRefusal(saying: "directory \(name)", "put the directory back") {
            _ = try temporary.reopened()
        }
    }
}
