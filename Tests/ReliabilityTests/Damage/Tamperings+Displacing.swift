import StorageTestSupport

extension TamperingTests {
    /// What is left where something stands in place of castree's own files, perhaps with the last copy of content in it,
    /// and where more than one thing is lost that a repair makes again from the others.
    static let displacing =
        ["index.sqlite", "index.sqlite-journal", "index.sqlite-wal", "index.sqlite-shm", "stamp"]
        .map { name in
            moving(
                "hello", to: "into a directory in place of \(name)", .missingTree,
                besides: [.damagedIndex]
            ) { victim in
                Damage.remove(victim.path(name))
                return victim.path(name) + "/inner/hello"
            }
        } + [
            moving(
                "hello", to: "into a directory in place of current", .wrongCurrentLink
            ) { victim in
                Damage.remove(victim.path("current"))
                return victim.path("current") + "/hello"
            },
            moving(
                "hello", to: "into a directory in place of a manifest", .damagedManifest,
                stays: [.damagedManifest]
            ) { victim in
                Damage.remove(victim.path("manifests/1.json"))
                return victim.path("manifests/1.json") + "/hello"
            },
            moving("hello", to: "into a directory among the leases", .strayFile) {
                $0.path("leases/saved/hello")
            },
            moving("hello", to: "among the manifests", .missingObject) {
                $0.path("manifests/hello")
            },
            Tampering(
                "puts a directory with files in place of a manifest", .damagedManifest
            ) { victim in
                let path = victim.path("manifests/1.json")
                try Damage.replace(path, by: .directory)
                try Damage.overwriteOrCreate(path + "/saved", with: Array("saved".utf8))
            },
            Tampering(
                "deletes manifest and tree of what is shown", .missingManifest,
                stays: [.missingManifest]
            ) { victim in
                Damage.remove(victim.path("manifests/1.json"))
                try removeTree(victim, "1")
            },
            Tampering(
                "deletes manifest, tree and index of what is shown", .unknownVersion,
                besides: [.damagedExecutableCopy]
            ) { try forgetAll($0, ["1"]) },
            Tampering(
                "deletes all manifests, all trees and the index", .unknownVersion,
                besides: [.damagedExecutableCopy]
            ) { try forgetAll($0, ["0", "1", "2"]) },
            Tampering(
                "empties the lifecycle and deletes the tree of what is shown", .damagedLifecycle,
                besides: [.missingTree]
            ) { victim in
                try Damage.truncate(victim.path("lifecycle.json"), to: 0)
                try removeTree(victim, "1")
            },
            Tampering(
                "deletes the lifecycle and all trees", .damagedLifecycle, besides: [.missingTree]
            ) { victim in
                Damage.remove(victim.path("lifecycle.json"))
                for name in ["0", "1", "2"] { try removeTree(victim, name) }
            },
            Tampering(
                "deletes the lifecycle, the tree of what is shown and an object of it",
                .damagedLifecycle, besides: [.missingObject, .incompleteVersion, .missingTree],
                stays: [.incompleteVersion]
            ) { victim in
                Damage.remove(victim.path("lifecycle.json"))
                try removeTree(victim, "1")
                Damage.remove(try victim.object("hello"))
            },
            Tampering(
                "lets a shard lead to itself", .strayFile, besides: [.missingObject]
            ) { victim in
                let shard = (try victim.object("hello") as NSString).deletingLastPathComponent
                Damage.remove(shard)
                symlink((shard as NSString).lastPathComponent, shard)
            },
        ]

    /// Leaves nothing of versions but their objects and what the lifecycle says.
    private static func forgetAll(_ victim: Victim, _ versions: [String]) throws {
        for version in versions {
            Damage.remove(victim.path("manifests/\(version).json"))
            try removeTree(victim, version)
        }
        Damage.remove(victim.path("index.sqlite"))
    }
}
