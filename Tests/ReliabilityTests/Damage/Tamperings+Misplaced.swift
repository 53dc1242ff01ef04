import StorageTestSupport

extension TamperingTests {
    /// What is left where the last copy of content stands in a place that nobody would look at: in another object's
    /// place, among what is not castree's, in a tree that no version can have, under a path that no manifest can hold.
    static let misplaced = ofPlaces + ofTreeNames + ofHiddenTrees + ofPaths

    // MARK: The last copy of an object stands in another place

    /// Deletes all trees that show an object, and moves the object's file to a place inside the store.
    static func moving(
        _ text: String, to name: String, _ kind: Finding.Kind, besides: Set<Finding.Kind> = [],
        stays: Set<Finding.Kind> = [], _ place: @escaping @Sendable (Victim) throws -> String
    ) -> Tampering {
        Tampering(
            "loses all trees, and moves an object \(name)", kind,
            besides: besides.union([
                .missingObject, .missingTree, .incompleteVersion, .damagedExecutableCopy,
            ]), stays: stays
        ) { victim in
            for version in ["0", "1", "2"] { try removeTree(victim, version) }
            let target = try place(victim)
            let object = try victim.object(text)
            // In the object's own place the directory itself stands in the way.
            let aside = victim.place.beside + "/moved"
            guard rename(object, aside) == 0 else { throw NothingToDamage() }
            let parent = (target as NSString).deletingLastPathComponent
            try Damage.makeDirectory(parent)
            guard rename(aside, target) == 0 else { throw NothingToDamage() }
            if target.hasSuffix(".x") { chmod(target, 0o555) }
        }
    }

    private static let ofPlaces = [
        moving("hello", to: "to an executable copy of its size", .damagedExecutableCopy) {
            try $0.object("#!one", executable: true)
        },
        moving("hello", to: "to an executable copy of another size", .damagedExecutableCopy) {
            try $0.object("#!zero", executable: true)
        },
        moving("hello", to: "to an executable copy of nobody", .damagedExecutableCopy) {
            try $0.object("nobody has this", executable: true)
        },
        // Not that of what a verb retires: a collection does not read what it deletes (docs/reliability.md).
        moving(
            "hello", to: "to the address of another", .damagedObject, stays: [.incompleteVersion]
        ) { try $0.object("zero") },
        moving("hello", to: "to an address of nobody", .damagedObject) {
            try $0.object("nobody has this")
        },
        moving("hello", to: "to an address of nobody, and deletes the index", .damagedObject) {
            Damage.remove($0.path("index.sqlite"))
            return try $0.object("nobody has this")
        },
        moving("hello", to: "into a directory in its own place", .notAFile) {
            try $0.object("hello") + "/inner/hello"
        },
        moving("hello", to: "into a directory in another's place", .notAFile) {
            let other = try $0.object("two")
            Damage.remove(other)
            return other + "/hello"
        },
        moving(
            "hello", to: "into a directory in place of an executable copy", .damagedExecutableCopy
        ) {
            let other = try $0.object("#!one", executable: true)
            Damage.remove(other)
            return other + "/hello"
        },
        moving("hello", to: "among the objects under no address", .strayFile, stays: [.strayFile]) {
            $0.path("objects/ab/saved/hello")
        },
        moving(
            "hello", to: "to what a dead writer has staged", .missingObject, besides: [.leftover]
        ) { $0.path("staging/99-0123456789abcdef/hello") },
        moving(
            "hello", to: "to an executable copy that a dead writer has staged", .missingObject,
            besides: [.leftover]
        ) { victim in
            let address = try victim.object("hello").suffix(65).filter { $0 != "/" }
            return victim.path("staging/99-0123456789abcdef/\(address).x")
        },
        moving(
            "hello", to: "to the place of a dead writer's lease", .missingObject,
            // An object is read-only, and a lease is not.
            besides: [.leftover, .wrongMode]
        ) { $0.path("leases/99-0123456789abcdef") },
        moving("hello", to: "elsewhere in the store", .missingObject) {
            $0.path("objects.bak/68/hello")
        },
    ]

    // MARK: A tree that no version can have

    /// Deletes a version's manifest, the index, and the objects that only its tree shows.
    private static func forget(_ victim: Victim, _ version: String) throws {
        Damage.remove(victim.path("manifests/\(version).json"))
        Damage.remove(victim.path("index.sqlite"))
        for (other, files) in Place.contents where other == version {
            for text in files.values where !text.isEmpty && text != "shared" {
                Damage.remove(try victim.object(text))
                Damage.remove(try victim.object(text, executable: true))
            }
        }
    }

    private static let besidesForgotten: Set<Finding.Kind> = [
        .unknownVersion, .wrongCurrentLink, .missingTree, .recoveredManifest, .incompleteVersion,
        .damagedExecutableCopy, .strayTree,
    ]
    private static let staysForgotten: Set<Finding.Kind> = [
        .recoveredManifest, .incompleteVersion, .missingObject,
    ]

    private static func ofTree(
        _ what: String, _ version: String = "1",
        _ act: @escaping @Sendable (Victim) throws -> Void
    ) -> Tampering {
        Tampering(
            "\(what), and forgets version \(version)", .missingManifest, besides: besidesForgotten,
            stays: staysForgotten
        ) { victim in
            try act(victim)
            try forget(victim, version)
        }
    }

    private static let ofTreeNames =
        [
            ("1 (old)", Array("1 (old)".utf8)), ("-1", Array("-1".utf8)), ("ä", Array("ä".utf8)),
            ("a name of 200 bytes", [UInt8](repeating: 97, count: 200)),
            ("a name that is no UTF-8", [49, 0xff]),
        ].map { name, bytes in
            ofTree("renames a tree to \(name)") { victim in
                try renameTree(victim, "1", bytes)
            }
        }

    private static let ofHiddenTrees = [
        ofTree("renames the current tree to a hidden name") {
            try renameTree($0, "1", Array(".1.old".utf8))
        },
        ofTree("renames a known good tree to a hidden name", "0") {
            try renameTree($0, "0", Array(".0.old".utf8))
        },
        ofTree("renames a tree to the name of a lease", "0") {
            try renameTree($0, "0", Array(".0.4711-0123456789abcdef".utf8))
        },
        ofTree("renames a protected tree to a hidden name", "2") {
            try $0.place.open().protect("2")
            try renameTree($0, "2", Array(".2.old".utf8))
        },
    ]

    // MARK: A path that no manifest can hold

    private static let ofPaths =
        [
            ("a backslash", Array("in\\dex".utf8)), ("no UTF-8", [105, 0xff, 110]),
        ].map { name, bytes in
            ofTree("gives a file of a tree a name with \(name)") { victim in
                let root = victim.path("versions/1")
                chmod(root, 0o755)
                try move(root + "/index.html", to: Array((root + "/").utf8) + bytes)
                chmod(root, 0o555)
            }
        } + [
            ofTree("moves files of a tree into a directory of no UTF-8") { victim in
                let root = victim.path("versions/1")
                chmod(root, 0o755)
                try move(root + "/lib", to: Array((root + "/").utf8) + [108, 0xfe])
                chmod(root, 0o555)
            },
            ofTree("moves a file of a tree deeper than a path may lead") { victim in
                let root = victim.path("versions/1")
                chmod(root, 0o755)
                var deep = root
                for _ in 0..<6 { deep += "/" + String(repeating: "d", count: 200) }
                try Damage.makeDirectory(deep)
                try move(root + "/index.html", to: Array((deep + "/index.html").utf8))
                chmod(root, 0o555)
            },
            ofTree("leaves a tree with nothing but names of no manifest") { victim in
                let root = victim.path("versions/1")
                chmod(root, 0o755)
                try move(root + "/index.html", to: Array((root + "/in\\dex").utf8))
                chmod(root + "/lib", 0o755)
                for name in ["lib", "run.sh", "empty"] { Damage.remove(root + "/" + name) }
                chmod(root, 0o555)
            },
        ]

    // MARK: Files whose names need not be text

    static func removeTree(_ victim: Victim, _ version: String) throws {
        let root = victim.path("versions/\(version)")
        // Its files are those of the objects, whose modes stay.
        for name in ["", "/lib"] { chmod(root + name, 0o755) }
        Damage.remove(root)
    }

    private static func renameTree(_ victim: Victim, _ version: String, _ name: [UInt8]) throws {
        try move(
            victim.path("versions/\(version)"),
            to: Array((victim.path("versions") + "/").utf8) + name)
    }

    private static func move(_ path: String, to target: [UInt8]) throws {
        let target = target.map { CChar(bitPattern: $0) } + [0]
        guard rename(path, target) == 0 else { throw NothingToDamage() }
    }
}
