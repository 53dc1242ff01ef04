import StorageTestSupport

extension TamperingTests {
    /// What is left when a store is copied without its links, or has lost more than one thing.
    static let copies = [
        Tampering("copies a store without its links", .copiedInTree) { try unlinkAll($0) },
        Tampering(
            "copies a store without its links, and flips a bit of an object", .damagedObject,
            besides: [.copiedInTree]
        ) { victim in
            try unlinkAll(victim)
            try Damage.flip(victim.object("hello"), at: 2)
        },
        Tampering(
            "copies a store without its links, and loses an object", .missingObject,
            besides: [.copiedInTree]
        ) { victim in
            try unlinkAll(victim)
            Damage.remove(try victim.object("hello"))
        },
        Tampering("puts a copy of all trees in their place", .copiedInTree) {
            try unlinkAll($0, sharing: true)
        },
        Tampering("deletes all objects", .missingObject, besides: [.wrongInTree]) { victim in
            for shard in Damage.names(victim.path("objects")) {
                Damage.remove(victim.path("objects/\(shard)"))
            }
        },
        Tampering(
            "deletes the manifest and the index of what is shown", .missingManifest,
            besides: [.unknownVersion, .recoveredManifest],
            stays: [.recoveredManifest, .incompleteVersion]
        ) { victim in
            Damage.remove(victim.path("manifests/1.json"))
            Damage.remove(victim.path("index.sqlite"))
        },
        Tampering("deletes all manifests", .missingManifest, stays: [.missingManifest]) { victim in
            for name in ["0", "1", "2"] { Damage.remove(victim.path("manifests/\(name).json")) }
        },
    ]

    /// Gives every file of every tree an inode of its own, as copying tools do that know no links.
    ///
    /// - Parameter sharing: whether what was one file among the trees is one again.
    private static func unlinkAll(_ victim: Victim, sharing: Bool = false) throws {
        var made: [ino_t: String] = [:]
        for version in ["0", "1", "2"] {
            let root = victim.path("versions/\(version)")
            guard let walk = FileManager.default.enumerator(atPath: root) else { continue }
            for case let name as String in walk {
                let path = "\(root)/\(name)"
                var status = stat()
                guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                    continue
                }
                let bytes = try Damage.contents(path)
                let parent = (path as NSString).deletingLastPathComponent
                chmod(parent, 0o755)
                Damage.remove(path)
                if let same = made[status.st_ino], sharing {
                    link(same, path)
                } else {
                    try Damage.overwriteOrCreate(path, with: bytes)
                    chmod(path, status.st_mode & 0o777)
                }
                made[status.st_ino] = path
                chmod(parent, 0o555)
            }
        }
    }
}
