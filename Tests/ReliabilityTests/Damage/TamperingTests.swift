import CASStore
import Foundation
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

/// What bit-rot, a stranger or a careless hand may do to the files of a store: each is found and named,
/// mended without guessing, and never read.
@Suite("A store whose files were tampered with") struct TamperingTests {
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
            place = Place(
                root: directory.appending("disk"), beside: directory.appending("beside"))
            mkdir(place.root, 0o755)
            try Scenario.with("1", "2")(place)
            try place.open().activate("1")
        }

        func path(_ name: String) -> String { place.store + "/" + name }

        func object(_ text: String, executable: Bool = false) throws -> String {
            let digits = try address(of: text).description
            let name = "objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
            return path(name + (executable ? ".x" : ""))
        }

        /// Adds all versions again.
        func heal() throws {
            let versions = try place.open()
            for name in ["0", "1", "2"] { try place.add(name, to: versions) }
        }

        func edit(_ name: String, _ old: String, _ new: String) throws {
            let text = String(decoding: try Damage.contents(path(name)), as: UTF8.self)
            let edited = text.replacing(old, with: new)
            try #require(edited != text)
            try Damage.overwrite(path(name), with: Array(edited.utf8))
        }
    }

    static let tamperings: [Tampering] =
        objects + strays + indexes + manifests + lifecycles + leases + trees

    private static func ofObject(
        _ name: String, _ kind: Finding.Kind, besides: Set<Finding.Kind> = [],
        _ act: @escaping @Sendable (Victim, String) throws -> Void
    ) -> Tampering {
        Tampering(
            name, kind,
            // The tree shows the same file; what is current lacks an object once it is taken away.
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
            try Damage.replace($1, by: .symbolicLink("/etc/passwd"))
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
        ofObject("makes two objects one file", .damagedObject) {
            Damage.remove($1)
            try #require(link($0.object("zero"), $1) == 0)
        },
        ofObject("makes an object writable", .wrongMode) { chmod($1, 0o644) },
        ofObject("makes an object unreadable", .wrongMode, besides: [.damagedObject]) {
            chmod($1, 0)
        },
        ofObject("makes an object setuid", .wrongMode) { chmod($1, 0o4555) },
        Tampering("flips a bit of a twin", .damagedTwin, besides: [.wrongInTree]) {
            try Damage.flip($0.object("#!one", executable: true), at: 3)
        },
        Tampering("makes a twin writable", .wrongMode, besides: [.wrongModeInTree]) {
            chmod(try $0.object("#!one", executable: true), 0o777)
        },
        Tampering(
            "puts a link in place of a shard", .strayFile, stays: [.strayFile]
        ) {
            let shard = (try $0.object("hello") as NSString).deletingLastPathComponent
            rename(shard, $0.place.beside + "/shard")
            symlink($0.place.beside + "/shard", shard)
        },
    ]

    static let strays =
        ["objects/README", "objects/ab/README", "objects/ab/lost+found", "objects/AB"]
        .map { name in
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

    static let manifests = [
        Tampering(
            "cuts a manifest", .damagedManifest, stays: [.damagedManifest]
        ) { try Damage.truncate($0.path("manifests/2.json"), to: 40) },
        Tampering(
            "puts rubbish in place of a manifest", .damagedManifest, stays: [.damagedManifest]
        ) {
            try Damage.overwrite($0.path("manifests/2.json"), with: Array("{}".utf8))
        },
        Tampering(
            "puts a directory in place of a manifest", .damagedManifest, stays: [.damagedManifest]
        ) { try Damage.replace($0.path("manifests/2.json"), by: .directory) },
        Tampering(
            "puts another version's manifest in its place", .damagedManifest,
            stays: [.damagedManifest]
        ) {
            try Damage.overwrite(
                $0.path("manifests/2.json"), with: Damage.contents($0.path("manifests/0.json")))
        },
        Tampering("lets a manifest reach outside", .damagedManifest, stays: [.damagedManifest]) {
            try $0.edit("manifests/2.json", "index.html", "../../evil")
        },
        Tampering("edits a manifest well", .editedManifest, stays: [.editedManifest]) {
            try $0.edit("manifests/2.json", "index.html", "indem.html")
        },
        Tampering(
            "exchanges two contents in a manifest", .editedManifest, stays: [.editedManifest]
        ) { victim in
            // As long as each other.
            let one = try address(of: "shared").description
            let other = try address(of: "#!zero").description
            try victim.edit("manifests/2.json", one, "-")
            try victim.edit("manifests/2.json", other, one)
            try victim.edit("manifests/2.json", "\"-\"", "\"\(other)\"")
        },
        Tampering(
            "puts an edited manifest in a manifest's place", .editedManifest,
            stays: [.editedManifest]
        ) {
            let path = $0.path("manifests/2.json")
            let text = String(decoding: try Damage.contents(path), as: UTF8.self)
            try Damage.replace(path, by: .emptyFile)
            try Damage.overwrite(
                path, with: Array(text.replacing("index.html", with: "indem.html").utf8))
        },
        Tampering(
            "deletes the manifest of what is shown", .unknownVersion,
            besides: [.strayTree, .wrongCurrentLink]
        ) {
            try Damage.replace($0.path("manifests/1.json"), by: .nothing)
        },
    ]

    static let lifecycles =
        [
            Tampering("writes rubbish into the lifecycle", .damagedLifecycle) {
                try Damage.overwrite($0.path("lifecycle.json"), with: Array("{\"current\":".utf8))
            },
            Tampering(
                "lets the lifecycle name a version that is not there", .unknownVersion,
                besides: [.wrongCurrentLink]
            ) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"9\"")
            },
            Tampering("lets the lifecycle name another version", .wrongCurrentLink) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"2\"")
            },
            Tampering("lets the lifecycle reach outside", .damagedLifecycle) {
                try $0.edit("lifecycle.json", "\"current\":\"1\"", "\"current\":\"../..\"")
            },
        ]
        + [
            ("deletes the link current", Damage.Stranger.nothing),
            ("lets current dangle", .symbolicLink("versions/9")),
            ("lets current lead outside", .symbolicLink("/etc")),
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
        Tampering("leaves a directory among the leases", .strayFile, stays: [.strayFile]) {
            mkdir($0.path("leases/4711-0123456789abcdee"), 0o755)
        },
        Tampering("leaves a link among the leases", .strayFile, stays: [.strayFile]) {
            symlink("/etc/passwd", $0.path("leases/4711-0123456789abcded"))
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

    @Test("names it, mends it and never reads it, if somebody", arguments: tamperings)
    func tampered(_ tampering: Tampering) throws {
        let victim = try Victim()
        try tampering.act(victim)
        // Read before anybody looks: never a wrong byte.
        try expectNothingWrong(victim)
        let found = try victim.place.open().check(CheckOptions(isDeep: true)).findings
        let kinds = Set(found.map(\.kind))
        #expect(kinds.contains(tampering.kind), "\(found.map(\.message))")
        #expect(
            kinds.isSubset(of: tampering.besides.union([tampering.kind])), "\(found.map(\.message))"
        )
        #expect(
            found.filter { $0.kind == tampering.kind }.allSatisfy {
                $0.path != nil || $0.version != nil || $0.object != nil
            })
        _ = try victim.place.open().check(repairing: true)
        try expectNothingWrong(victim)
        let left = Set(
            try victim.place.open().check(CheckOptions(isDeep: true)).findings.map(\.kind))
        #expect(left.isSubset(of: tampering.stays), "\(left)")
        // With its content again the store is whole.
        if tampering.stays.isDisjoint(with: [.damagedManifest, .editedManifest]) {
            try victim.heal()
            let last = Set(
                try victim.place.open().check(CheckOptions(isDeep: true)).findings.map(\.kind))
            #expect(last.isSubset(of: tampering.stays.intersection([.strayFile])), "\(last)")
        }
    }

    /// What reads succeeds with the right bytes or not at all.
    private func expectNothingWrong(_ victim: Victim) throws {
        let store = try victim.place.open().store
        for text in Place.contents.values.flatMap(\.values) {
            let bytes: [UInt8]?
            do { bytes = try store.read(address(of: text), limit: 1 << 20) } catch let error
                as StoreError
            {
                #expect(
                    [.damagedObject, .permission, .notFound, .io].contains(error.code), "\(error)")
                continue
            }
            if let bytes { #expect(bytes == Array(text.utf8)) }
        }
    }

    @Test("says so when it makes an index again behind a change that was cut short")
    func journal() throws {
        let victim = try Victim()
        try Damage.overwriteOrCreate(
            victim.path("index.sqlite-journal"), with: [UInt8](repeating: 0xd9, count: 512))
        let notices = Mutex<[String]>([])
        let versions = try VersionStore.open(
            victim.place.store,
            options: StoreOptions(
                isDurable: false, notice: { text in notices.withLock { $0.append(text) } }))
        // A power cut may leave it: no damage, and said all the same.
        #expect(try versions.check(CheckOptions(isDeep: true)).findings == [])
        #expect(notices.withLock { $0.count } == 1)
        #expect(try versions.versions().count == 3)
    }
}
