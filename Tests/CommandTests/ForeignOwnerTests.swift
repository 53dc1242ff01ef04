import ProgramTestSupport

// docs/maintenance.md, "Root, and other users" and "What a finding means".
@Suite(
    "What belongs to another user in a store, or has another mode",
    .needsOtherUser)
struct ForeignOwnerTests {
    private let place = Workplace(inMemory: true)

    /// Runs a script in which `o` is an object with one more name, in a tree.
    @discardableResult
    private func shell(_ script: String) throws -> Finished {
        try place.script(
            "o=$(find s/objects -type f ! -name '*.x' -links 2 | sort | head -n 1)\n" + script)
    }

    private func prepared() throws {
        for version in ["1", "2", "3"] {
            try place.write(
                [
                    "index.html": "page \(version)", "js/app.js": "app \(version)",
                    "run.sh": "#!/bin/sh\n# \(version)\n",
                ], to: "r\(version)")
        }
        try place.give(to: Workplace.nobody)
        try shell(
            """
            chmod 755 . && own add r1 --version 1 --activate && own add r2 --version 2 &&
                own activate 2 && own fsck && mv s sound
            """
        ).ended()
        try reset()
    }

    private func reset() throws {
        // A copy of the index would be made again by the next command, whosever it is.
        try shell("rm -rf s && cp -a sound s && own versions --quiet").ended()
    }

    /// The store is sound, and the owner can do anything in it.
    private func expectUsable(_ what: String) throws {
        for script in [
            "own fsck --deep", "own add r3 --version 3 && own activate 3", "own retire 1", "own gc",
            "own fsck --deep",
        ] {
            try shell(script).ended(in: "\(what): \(script)")
        }
    }

    private static let things = [
        "$o", "$(find s/objects -name '*.x' | sort | head -n 1)", "s/manifests/1.json",
        "s/index.sqlite", "s/versions/1", "s/versions/1/js", "$(dirname $o)",
    ]
    private static let modes = ["000", "400", "444", "555", "600", "644", "755"]

    @Test(
        "lets a repair end, which mends the rest; root's gives it back or makes it anew, and says what it found",
        arguments: things)
    func each(_ thing: String) throws {
        let isShared = Self.things.prefix(2).contains(thing)
        let isDirectory = Self.things.suffix(3).contains(thing)
        try prepared()
        for mode in Self.modes {
            for isForeign in [true, false] {
                for repairer in ["own", "root"] {
                    let what = "\(thing) \(mode) \(isForeign ? "foreign" : "own") \(repairer)"
                    try reset()
                    // The other damage must be mended, too.
                    try shell(
                        """
                        t="\(thing)"; \(isForeign ? "chown root:root $t;" : "") chmod \(mode) $t
                        chmod 700 s/versions/2; rm s/current
                        """)
                    let repaired = try shell("\(repairer) fsck --repair")
                    // What nobody else may read, root gives back; a file with other names a person.
                    let isClosed =
                        isForeign
                        && !(isDirectory ? ["555", "755"] : ["444", "555", "644", "755"]).contains(
                            mode)
                    if isClosed, isShared {
                        let root = try shell("root fsck --repair")
                        expect(repaired.status == 4 && root.status == 4, "\(what): \(root)")
                        expect(root.text.contains("chown"), "\(root)")
                        continue
                    }
                    let ends: [Int32] = repairer == "root" || !isForeign ? [1] : [1, 4]
                    expect(ends.contains(repaired.status), "\(what): \(repaired)")
                    let mended = try shell("readlink s/current; stat -c %a s/versions/2").text
                    expect(
                        mended == "versions/2\n555\n" || isClosed && repairer == "own",
                        "\(what): \(repaired)")
                    if repaired.status == 4 {
                        expect(
                            repaired.text.contains("castree fsck --repair, run as root"),
                            "\(what): \(repaired)")
                        try expect(shell("own fsck").status, equals: 4, "\(what)")
                        try shell("root fsck --repair").ended(1, in: "\(what)")
                    }
                    try expectUsable(what)
                }
            }
        }
    }

    @Test(
        "is mended by root's repair after a restore as root, whatever the copy kept",
        arguments: ["-r --no-preserve=mode", "-r", "-a --no-preserve=ownership"])
    func restored(_ options: String) throws {
        try prepared()
        for repairers in [["root"], ["own", "root"]] {
            try shell("rm -rf s; cp \(options) sound s; chown -R root:root s; chown 65534:65534 s")
            for repairer in repairers {
                let finished = try shell("\(repairer) fsck --repair")
                let ends: [Int32] = repairer == "own" ? [1, 4] : [0, 1]
                expect(ends.contains(finished.status), "\(options) \(repairers): \(finished)")
            }
            try expectUsable("\(options) \(repairers)")
        }
    }

    /// What stands at `manifests/3.json`, and what then belongs there.
    private static let manifests = [
        "chown root:root $m; chmod 400 $m", "chmod 000 $m",
        "mv $m kept; mkdir -m 700 $m; touch $m/mine", "mv $m kept; mkdir -m 700 $m",
    ]

    @Test(
        "keeps no command from what it does without it where it is one manifest",
        arguments: manifests)
    func manifest(_ script: String) throws {
        try prepared()
        try shell("own add r3 --version 3; own boot; m=s/manifests/3.json; \(script)").ended()
        for words in [
            "boot", "activate 1", "activate 2", "add r1 --version 4", "versions", "du", "pull o",
            "report /dev/null",
        ] {
            if words == "pull o" { try expect(shell("own publish 1 o").status, equals: 0) }
            try shell("own \(words)").ended()
        }
        let status = try shell("own status --json").document(.status)
        expect(status.versions, equals: 4, "\(status)")
        // It is as if it were damaged: nothing of its version goes, and nobody makes anything of it.
        for words in ["gc", "publish 3 o", "checkout 3 out"] {
            try shell("own \(words)").ended(1)
        }
        let checked = try shell("own fsck")
        expect(checked.status == 4 && checked.text.contains("manifests/3.json"), "\(checked)")
        let own = try shell("own fsck --repair")
        if script.contains("chown") {
            expect(own.status == 4 && own.text.contains("run as root"), "\(own)")
            let root = try shell("root fsck --repair")
            expect(root.status == 1 && root.text.contains("it was given back"), "\(root)")
        } else {
            expect(own.status, equals: 1, "\(own)")
        }
        for words in ["activate 3", "gc", "fsck --deep"] {
            try shell("own \(words)").ended(in: "\(script): \(words)")
        }
    }

    @Test func `gives way to the same content where it is one manifest`() throws {
        try prepared()
        try shell(
            "own add r3 --version 3; chown root:root s/manifests/3.json; chmod 400 s/manifests/3.json"
        ).ended()
        try expect(shell("own add r3 --version 3").status, equals: 0)
        try expectUsable("added again")
    }

    @Test("is no repaired problem where the owner's repair cannot remove it, and root's removes it")
    func stays() throws {
        try prepared()
        try shell(
            """
            cd s/versions/1; chmod u+w js; rm js/app.js; mkdir js/app.js; echo mine > js/app.js/mine
            chmod 555 js
            """)
        let own = try shell("own fsck --repair").ended(4)
        expect(own.text.contains("it stays: ") && !own.text.contains("all repaired"), "\(own)")
        try shell("root fsck --repair").ended(1)
        try expectUsable("removed by root")
        // What somebody has put there is kept.
        try expect(shell("cat s/quarantine/stray-*").text, equals: "mine\n")
    }
}
