import ProgramTestSupport

// docs/buckets.md: what is not castree's is never touched. A file system keeps snapshots, or what fsck(8) finds, in
// directories of root's, wherever a store or an origin is.
@Suite(
    "A directory of somebody else's that cannot be read",
    .needsOtherUser)
struct ForeignDirectoryTests {
    private let place = Workplace(inMemory: true)

    private func prepared() throws {
        for version in ["1", "2"] {
            try place.write(["index.html": "page \(version)", "app.js": "app"], to: "r\(version)")
        }
        try place.give(to: Workplace.nobody)
        try place.script(
            """
            chmod 755 . && for v in 1 2; do own add r$v --version $v && own publish $v o --no-packs || exit 1; done
            """
        ).ended()
    }

    private static let found = ["lost+found", ".snapshot", "somebodys/deep", "objects/.snapshot"]

    @Test(arguments: found)
    func `in an origin keeps nobody from publishing, copying, counting or deleting`(
        _ name: String
    ) throws {
        try prepared()
        try expect(place.script("mkdir -p o/\(name) && chmod 700 o/\(name)").status, equals: 0)
        for words in [
            "publish 1 o --channel beta --no-packs", "publish --all-of o copy",
            "prune o --keep 1 --grace 0s",
            "du o",
        ] {
            let finished = try place.script("own \(words)").ended(in: "\(name): \(words)")
            let named = finished.errors.split(separator: "\n").count { $0.contains(name) }
            expect(named, equals: words.hasPrefix("publish") ? 0 : 1, "\(words): \(finished)")
        }
        let gone = try place.script(
            "find o/objects -type f | wc -l; find copy/objects -type f | wc -l")
        expect(gone.text, equals: "3\n3\n")
    }

    @Test(arguments: ["lost+found", "objects/.snapshot", "versions/1/mine"])
    func `in a store keeps nobody from counting`(_ name: String) throws {
        try prepared()
        try expect(place.script("mkdir -m 700 s/\(name)").status, equals: 0)
        try place.script("own du").ended(saying: name)
    }

    @Test func `is for counting as good as a file that is not castree's among the objects`() throws
    {
        try prepared()
        for name in [".DS_Store", "ab", "Thumbs.db"] {
            try expect(
                place.script("rm -rf s/objects/ab; echo x > s/objects/\(name)").status, equals: 0)
            for words in ["du", "du --html page"] {
                try place.script("chmod 777 .; own \(words)").ended(in: "\(name) \(words)")
            }
        }
    }

    // As systemd's DynamicUser=: /var/lib/kiosk leads to private/kiosk, and private/ is root's.
    @Test func `above a store keeps root from nothing that is made there for its owner`() throws {
        try prepared()
        for words in ["init", "pull o", "add r1 --version 1"] {
            try place.script(
                """
                rm -rf private kiosk; mkdir -p -m 700 private && mkdir private/kiosk && chown 65534:65534 private/kiosk &&
                    ln -s private/kiosk . && k='root --store kiosk' && $k \(words) && $k \(words) && $k fsck && ! find private/kiosk -user root | grep .
                """
            ).ended()
        }
    }

    @Test func `lets a store be made beside it, at the root of a disk`() throws {
        try place.script(
            """
            mkdir r1 s && echo page > r1/index.html && mkdir -m 700 s/lost+found && chmod 755 . && chown 65534:65534 . s &&
                own init && own add r1 --version 1 && own publish 1 o && own fsck && own gc
            """
        ).ended()
    }

    @Test(arguments: ["objects", "manifests", "log"])
    func `is one of castree's own, which is needed`(_ name: String) throws {
        try prepared()
        try expect(place.script("chown root o/\(name) && chmod 700 o/\(name)").status, equals: 0)
        for words in ["publish 1 o --channel beta", "prune o --keep 1 --grace 0s", "du o"] {
            try place.script("own \(words)").ended(1)
        }
    }

    @Test(
        "is one of castree's own, or a file, that only the clients of other systems need",
        arguments: ["for", "for/chcp", "for/chcp/stable.json", "for/chcp/config.json"])
    func clients(_ name: String) throws {
        try prepared()
        try place.script(
            """
            own origin enable o chcp --base-url http://x --deployment stable=stable && chown root o/\(name) &&
                chmod go= o/\(name)
            """
        ).ended()
        try place.script("own publish 1 o --no-packs").ended()
        // A directory root gives back; a file that nobody else could read is replaced.
        _ = try place.script("root fsck o --repair")
        try expect(place.script("own fsck o").status, equals: 0)
    }

    @Test func `is opened by its owner's repair, as a file is, where it is the owner's own`() throws
    {
        try prepared()
        let listed = try place.script(
            """
            { own origin enable o chcp --base-url http://x --deployment stable=stable && own publish 1 o; } >&2 &&
                cd o && find . ! -path './.publish*' ! -name . ! -name origin.json | sort
            """)
        let names = listed.text.split(separator: "\n")
        expect(names.count > 20, "\(listed)")
        for name in names {
            let before = try place.script("stat -c %a o/\(name); chmod 000 o/\(name)").text
            let found = try place.script("own fsck o")
            expect(found.status == 4 && found.text.contains("wrongMode"), "\(name): \(found)")
            try place.script("own fsck o --repair").ended(1, in: "\(name)")
            try expect(place.script("stat -c %a o/\(name)").text, equals: before, "\(name)")
        }
        try expect(place.script("own fsck o --deep").status, equals: 0)
    }

    @Test func `is not what castree's own scratch is called`() throws {
        try prepared()
        try expect(
            place.script("mkdir -p o/.publish/frames && chmod 700 o/.publish/frames").status,
            equals: 0)
        for words in ["publish 1 o --channel beta", "fsck o", "du o"] {
            let finished = try place.script("own \(words)")
            expect(!finished.errors.contains("not castree's"), "\(words): \(finished)")
        }
    }
}
