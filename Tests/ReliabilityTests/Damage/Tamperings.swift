import StorageTestSupport

struct NothingToDamage: Error {}

extension TamperingTests {
    /// One thing that somebody does to a store.
    struct Tampering: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var act: @Sendable (Victim) throws -> Void
        /// The finding that names it.
        var kind: Finding.Kind
        /// Findings besides that follow from it.
        var besides: Set<Finding.Kind> = []
        /// What a repair leaves to be found: files that are not ours, content that is lost.
        var stays: Set<Finding.Kind> = []

        init(
            _ name: String, _ kind: Finding.Kind, besides: Set<Finding.Kind> = [],
            stays: Set<Finding.Kind> = [], _ act: @escaping @Sendable (Victim) throws -> Void
        ) {
            testDescription = name
            self.act = act
            self.kind = kind
            self.besides = besides
            self.stays = stays
        }
    }

    /// A store that shows version 1 and keeps 0 and 2.
    struct Victim: Sendable {
        let directory = TemporaryDirectory(inMemory: true)
        let place: Place

        init() throws {
            place = Place(root: directory.appending("disk"), beside: directory.appending("beside"))
            mkdir(place.root, 0o755)
            try Scenario.with("1", "2")(place)
            // So that the lifecycle has something of everything.
            let versions = try place.open()
            try writeTree(place.beside + "/source-3", ["index.html": "three"])
            _ = try versions.add(directory: place.beside + "/source-3", version: "3")
            try versions.activate("3")
            _ = try versions.rollback(reason: "white page")
            try versions.retire("3")
            _ = try versions.collect()
            try versions.makeKnownGood("1")
            _ = try versions.boot()
        }

        func path(_ name: String) -> String { place.store + "/" + name }

        func object(_ text: String, executable: Bool = false) throws -> String {
            let digits = try address(of: text).description
            let name = "objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
            return path(name + (executable ? ".x" : ""))
        }

        /// A file outside of the store, where a second damage that follows a link harms nobody.
        func stranger() throws -> String {
            let path = place.beside + "/stranger"
            try Damage.overwriteOrCreate(path, with: Array("somebody's".utf8))
            return path
        }

        /// Adds all versions again.
        func heal() throws {
            let versions = try place.open()
            for name in ["0", "1", "2"] { try place.add(name, to: versions) }
            // What a repair has made of a tree that was nobody's.
            for version in try versions.versions() where !["0", "1", "2"].contains(version.version)
            {
                if try versions.lifecycle().current == version.version {
                    try versions.activate("1")
                }
                try versions.retire(version.version)
            }
        }

        func edit(_ name: String, _ old: String, _ new: String) throws {
            let text = String(decoding: try Damage.contents(path(name)), as: UTF8.self)
            let edited = text.replacing(old, with: new)
            // Not as a failure: where two damages are done the first may have taken away what the second edits.
            guard edited != text else { throw NothingToDamage() }
            try Damage.overwrite(path(name), with: Array(edited.utf8))
        }
    }

    static let tamperings: [Tampering] =
        objects + strangers + strays + indexes + manifests + lifecycles + leases + trees + copies
        + misplaced + displacing

    private static func ofObject(
        _ name: String, _ kind: Finding.Kind, besides: Set<Finding.Kind> = [],
        _ act: @escaping @Sendable (Victim, String) throws -> Void
    ) -> Tampering {
        Tampering(
            name, kind,
            // The tree shows the same file; what is current is missing an object once it is taken away.
            besides: besides.union([.wrongInTree, .wrongModeInTree, .incompleteVersion]),
            stays: [.incompleteVersion]
        ) { victim in try act(victim, victim.object("hello")) }
    }

    static let objects = [
        ofObject("flips a bit of an object", .damagedObject) { try Damage.flip($1, at: 2) },
        ofObject("flips a bit and puts the times back", .damagedObject) { _, path in
            try Damage.keepingTimes(of: path) { try Damage.flip(path, at: 2) }
        },
        ofObject("cuts an object short", .damagedObject) { try Damage.truncate($1, to: 3) },
        ofObject("empties an object", .damagedObject) { try Damage.truncate($1, to: 0) },
        ofObject("makes an object longer", .damagedObject) { try Damage.extend($1, by: [10]) },
        ofObject("deletes an object", .missingObject) { try Damage.replace($1, by: .nothing) },
        ofObject("puts a symbolic link in place of an object", .notAFile) {
            try Damage.replace($1, by: .symbolicLink($0.stranger()))
        },
        ofObject("puts a link to the right bytes in place of an object", .notAFile) {
            try Damage.replace($1, by: .symbolicLink($0.path("versions/1/index.html")))
        },
        ofObject("puts a directory in place of an object", .notAFile) {
            try Damage.replace($1, by: .directory)
        },
        ofObject("puts a fifo in place of an object", .notAFile) {
            try Damage.replace($1, by: .fifo)
        },
        ofObject("puts a socket in place of an object", .notAFile) {
            try Damage.replace($1, by: .socket)
        },
        ofObject("makes two objects one file", .damagedObject) {
            Damage.remove($1)
            guard try link($0.object("zero"), $1) == 0 else { throw NothingToDamage() }
        },
        ofObject("makes an object writable", .wrongMode) { chmod($1, 0o644) },
        ofObject("makes an object unreadable", .wrongMode, besides: [.damagedObject]) {
            chmod($1, 0)
        },
        ofObject("makes an object setuid", .wrongMode) { chmod($1, 0o4555) },
        Tampering(
            "flips a bit of an executable copy", .damagedExecutableCopy, besides: [.wrongInTree]
        ) {
            try Damage.flip($0.object("#!one", executable: true), at: 3)
        },
        Tampering("makes an executable copy writable", .wrongMode, besides: [.wrongModeInTree]) {
            chmod(try $0.object("#!one", executable: true), 0o777)
        },
        Tampering("puts a link in place of a shard", .strayFile, besides: [.missingObject]) {
            let shard = (try $0.object("hello") as NSString).deletingLastPathComponent
            rename(shard, $0.place.beside + "/shard")
            symlink($0.place.beside + "/shard", shard)
        },
    ]

    static let strangers = [
        Damage.Stranger.directory, .fifo, .symbolicLink("/nowhere"), .emptyFile,
    ]
    .flatMap { stranger in
        [
            Tampering(
                "puts \(stranger) in place of an executable copy", .damagedExecutableCopy,
                besides: [.wrongInTree]
            ) { try Damage.replace($0.object("#!one", executable: true), by: stranger) },
            Tampering("puts \(stranger) in place of the lifecycle", .damagedLifecycle) {
                try Damage.replace($0.path("lifecycle.json"), by: stranger)
            },
        ]
    }

    static let strays =
        [
            "objects/README", "objects/ab/README", "objects/ab/lost+found", "objects/AB",
            "objects/ab/" + String(repeating: "A", count: 62),
        ].map { name in
            Tampering("leaves \(name)", .strayFile, stays: [.strayFile]) { victim in
                mkdir(victim.path("objects/ab"), 0o755)
                try Damage.overwriteOrCreate(victim.path(name), with: Array("foreign".utf8))
            }
        } + [
            Tampering(
                "puts a file of another name where an object could be", .damagedObject
            ) { victim in
                let path = try victim.object("nobody has this")
                mkdir((path as NSString).deletingLastPathComponent, 0o755)
                try Damage.overwriteOrCreate(path, with: Array("other bytes".utf8))
            },
            Tampering("copies an object in by hand", .unindexedObject) { victim in
                let path = try victim.object("by hand")
                mkdir((path as NSString).deletingLastPathComponent, 0o755)
                try Damage.overwriteOrCreate(path, with: Array("by hand".utf8))
                chmod(path, 0o444)
            },
        ]

    static let indexes = [
        Tampering("puts text in place of the index", .damagedIndex) {
            try Damage.overwrite($0.path("index.sqlite"), with: Array("not a database".utf8))
        },
        Tampering("cuts the index", .damagedIndex) {
            try Damage.truncate($0.path("index.sqlite"), to: 5000)
        },
        Tampering("brings back the index of yesterday", .damagedIndex) { victim in
            let old = try Damage.contents(victim.path("index.sqlite"))
            let lease = try victim.place.open().store.makeLease()
            _ = try victim.place.open().store.put(Array("new".utf8), protectedBy: lease)
            try Damage.overwrite(victim.path("index.sqlite"), with: old)
        },
        Tampering("brings back index and stamp of yesterday", .damagedIndex) { victim in
            let files = ["index.sqlite", "stamp"]
            let old = try files.map { try Damage.contents(victim.path($0)) }
            let lease = try victim.place.open().store.makeLease()
            _ = try victim.place.open().store.put(Array("new".utf8), protectedBy: lease)
            for (name, bytes) in zip(files, old) {
                try Damage.overwrite(victim.path(name), with: bytes)
            }
        },
        Tampering("puts another store's index in its place", .damagedIndex) { victim in
            let other = try Victim()
            try Damage.overwrite(
                victim.path("index.sqlite"), with: Damage.contents(other.path("index.sqlite")))
        },
        Tampering("writes rubbish into the stamp", .damagedIndex) {
            try Damage.overwrite($0.path("stamp"), with: Array("rubbish".utf8))
        },
        Tampering("deletes the stamp", .damagedIndex) {
            try Damage.replace($0.path("stamp"), by: .nothing)
        },
        Tampering("puts a directory in place of the stamp", .damagedIndex) {
            try Damage.replace($0.path("stamp"), by: .directory)
        },
    ]

    static func ofManifest(_ version: String) -> [Tampering] {
        let name = "manifests/\(version).json"
        // As long as each other, so that only the addresses tell.
        let (one, other) = version == "1" ? ("hello", "#!one") : ("shared", "#!zero")
        func damage(
            _ what: String, _ act: @escaping @Sendable (Victim) throws -> Void
        ) -> Tampering {
            Tampering(
                "\(what) manifest \(version)", .damagedManifest, stays: [.damagedManifest], act)
        }
        func edit(_ what: String, _ act: @escaping @Sendable (Victim) throws -> Void) -> Tampering {
            Tampering("\(what) manifest \(version)", .editedManifest, stays: [.editedManifest], act)
        }
        return [
            damage("cuts") { try Damage.truncate($0.path(name), to: 40) },
            damage("empties") { try Damage.truncate($0.path(name), to: 0) },
            damage("puts rubbish in place of") {
                try Damage.overwrite($0.path(name), with: Array("{}".utf8))
            },
            damage("puts a directory in place of") {
                try Damage.replace($0.path(name), by: .directory)
            },
            damage("puts a fifo in place of") { try Damage.replace($0.path(name), by: .fifo) },
            damage("puts a socket in place of") { try Damage.replace($0.path(name), by: .socket) },
            damage("puts a link to another manifest in place of") {
                try Damage.replace($0.path(name), by: .symbolicLink("0.json"))
            },
            damage("puts another version's manifest in place of") {
                try Damage.overwrite(
                    $0.path(name), with: Damage.contents($0.path("manifests/0.json")))
            },
            damage("lets outside be reached by") { try $0.edit(name, "index.html", "../../evil") },
            edit("edits well") { try $0.edit(name, "index.html", "indem.html") },
            edit("exchanges two contents in") { victim in
                let first = try address(of: one).description
                let second = try address(of: other).description
                try victim.edit(name, first, "-")
                try victim.edit(name, second, first)
                try victim.edit(name, "\"-\"", "\"\(second)\"")
            },
            edit("lets one more path show an object in") {
                let file = "\"path\":\"index.html\""
                let text = String(decoding: try Damage.contents($0.path(name)), as: UTF8.self)
                let entries = text.components(separatedBy: "{")
                guard let entry = entries.first(where: { $0.contains(file) }) else {
                    throw NothingToDamage()
                }
                try $0.edit(
                    name, "{" + entry,
                    "{" + entry + "{"
                        + entry.replacingOccurrences(of: file, with: "\"path\":\"index.htmm\""))
            },
            edit("puts an edited one in place of") {
                let path = $0.path(name)
                let text = String(decoding: try Damage.contents(path), as: UTF8.self)
                try Damage.replace(path, by: .emptyFile)
                try Damage.overwrite(
                    path, with: Array(text.replacing("index.html", with: "indem.html").utf8))
            },
        ]
    }

    static let manifests =
        ofManifest("1") + ofManifest("2") + [
            Tampering(
                "deletes the manifest of what is shown", .missingManifest
            ) { try Damage.replace($0.path("manifests/1.json"), by: .nothing) }
        ]

    static let lifecycles =
        [
            Tampering("writes rubbish into the lifecycle", .damagedLifecycle) {
                try Damage.overwrite($0.path("lifecycle.json"), with: Array("{\"current\":".utf8))
            },
            Tampering(
                "lets the lifecycle name a version that is not there", .unknownVersion,
                besides: [.wrongCurrentLink, .editedLifecycle]
            ) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"9\"")
            },
            Tampering(
                "lets the lifecycle name another version", .editedLifecycle,
                besides: [.wrongCurrentLink]
            ) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"2\"")
            },
            Tampering(
                "flips a bit in the current version's name", .editedLifecycle,
                besides: [.wrongCurrentLink]
            ) {
                let name = Array("\"current\":\"1".utf8)
                let bytes = try Damage.contents($0.path("lifecycle.json"))
                let found = bytes.indices.first { bytes[$0...].starts(with: name) }
                guard let start = found else { throw NothingToDamage() }
                try Damage.flip($0.path("lifecycle.json"), at: start + name.count - 1)
            },
            Tampering("lets the lifecycle reach outside", .damagedLifecycle) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"../..\"")
            },
        ]
        + [
            ("takes a ban out of", #""bad":[{"#, #""bad":[],"was":[{"#),
            ("changes the name in a ban in", #""version":"3""#, #""version":"2""#),
            ("makes a version known good in", #""knownGood":["#, #""knownGood":["2","#),
            ("takes a known good version out of", #""knownGood":["1","0"]"#, #""knownGood":["1"]"#),
            ("lets a version be pending in", #""pending":null"#, #""pending":"2""#),
            ("lets a version be embedded in", #""embedded":null"#, #""embedded":"0""#),
            ("changes the token of the boot in", #""token":""#, #""token":"f"#),
            ("adds a member of their own to", #""format":1"#, #""format":1,"mine":2"#),
            ("changes the digest of", #""digest":""#, #""digest":"f"#),
            ("puts a number in place of the digest of", #""digest":""#, #""digest":7,"was":""#),
        ].map { name, old, new in
            Tampering("\(name) the lifecycle", .editedLifecycle) {
                try $0.edit("lifecycle.json", old, new)
            }
        }
        + [
            ("deletes the link current", Damage.Stranger.nothing),
            ("lets current dangle", .symbolicLink("versions/9")),
            ("lets current lead outside", .symbolicLink("../..")),
            ("lets current lead to a path from the root", .symbolicLink("/versions/1")),
            ("puts an empty directory in place of current", .directory),
            ("puts a file in place of current", .emptyFile),
        ].map { name, stranger in
            Tampering(name, .wrongCurrentLink) {
                try Damage.replace($0.path("current"), by: stranger)
            }
        }

    static let leases = [
        Tampering("leaves a lease with half an address", .leftover) {
            try Damage.overwriteOrCreate(
                $0.path("leases/4711-0123456789abcdef"), with: [UInt8](repeating: 7, count: 45))
        },
        Tampering("leaves a directory among the leases", .strayFile) {
            mkdir($0.path("leases/4711-0123456789abcdee"), 0o755)
        },
        Tampering("leaves a link among the leases", .strayFile) {
            symlink(try $0.stranger(), $0.path("leases/4711-0123456789abcded"))
        },
    ]

    static let trees = [
        Tampering(
            "writes into a tree", .damagedObject, besides: [.wrongInTree, .incompleteVersion],
            stays: [.incompleteVersion]
        ) {
            try Damage.flip($0.path("versions/1/index.html"), at: 0)
        },
        Tampering("exchanges a file of a tree", .wrongInTree) {
            let path = $0.path("versions/1/index.html")
            chmod($0.path("versions/1"), 0o755)
            try Damage.replace(path, by: .emptyFile)
            try Damage.overwrite(path, with: Array("hellO".utf8))
            chmod(path, 0o444)
            chmod($0.path("versions/1"), 0o555)
        },
        Tampering("adds a file to a tree", .strayInTree) {
            chmod($0.path("versions/1"), 0o755)
            try Damage.overwriteOrCreate($0.path("versions/1/evil.js"), with: [1])
            chmod($0.path("versions/1"), 0o555)
        },
        Tampering("adds a tree", .strayTree) { mkdir($0.path("versions/7"), 0o755) },
        Tampering("renames a tree", .missingTree, besides: [.strayTree]) {
            rename($0.path("versions/1"), $0.path("versions/7"))
        },
    ]
}
