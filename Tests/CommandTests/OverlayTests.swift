import ProgramTestSupport

// docs/maintenance.md, "On overlayfs": a store in an image's layer, as containers and read-only systems have it.
@Suite("A store in the lower layer of overlayfs") struct OverlayTests {
    /// Why none can be mounted here; nil if that works.
    private static let reason: String? = {
        if geteuid() != 0 { return "needs root, to mount overlayfs" }
        let place = Workplace()
        guard let layers = try? Layers(place) else {
            return "no directory to work in"
        }
        let finished = try? layers.run(["--version"])
        return finished?.status == 0 ? nil : "the kernel mounts no overlayfs here"
    }()

    /// A store below, and what commands have changed of it above.
    private struct Layers {
        let place: Workplace
        private let script = """
            mount -t tmpfs none above && mkdir above/upper above/work || exit 99
            if [ -d kept ]; then cp -a kept/. above/upper/; fi
            mount -t overlay -o lowerdir=lower,upperdir=above/upper,workdir=above/work,redirect_dir=off \
                none merged || exit 99
            cd merged || exit 99
            for words; do "$0" $words || exit; done
            """

        init(_ place: Workplace) throws {
            self.place = place
            for name in ["lower", "above", "merged"] {
                try place.makeDirectory(name)
            }
        }

        /// Runs commands of castree, one after the other, on one mount; the first that fails ends it.
        func run(_ commands: [String]) throws -> Finished {
            let castree = ProgramUnderTest.castree.url.path
            return try place.run(
                ["/usr/bin/unshare", "-m", "--", "/bin/sh", "-c", script, castree] + commands)
        }
    }

    /// A store with three versions, the last of them current, in the lower layer.
    private func prepared() throws -> Layers {
        let layers = try Layers(Workplace())
        for (version, files) in [
            ("1", Release.first), ("2", Release.second), ("3", ["index.html": "<h1>three</h1>"]),
        ] {
            try layers.place.write(files, to: "lower/release-\(version)")
            let add = "add release-\(version) --version \(version) --activate"
            try layers.place.shell("cd lower && '\(ProgramUnderTest.castree.url.path)' \(add)")
                .ended()
        }
        return layers
    }

    @Test(.disabled(for: reason)) func `retires and collects what is below`() throws {
        let layers = try prepared()
        let finished = try layers.run(["retire 1", "gc", "fsck", "versions --json"]).ended()
        expect(!finished.text.contains(#""version":"1""#), "\(finished)")
        expect(finished.text.contains(#""version":"2""#), "\(finished)")
    }

    @Test(.disabled(for: reason)) func `is cleaned up by a policy`() throws {
        let layers = try prepared()
        let finished = try layers.run(["gc --keep 0", "fsck --deep", "versions --json"]).ended()
        expect(finished.text.contains("Retired version 1"), "\(finished)")
        expect(finished.text.contains("Retired version 2"), "\(finished)")
    }

    @Test(.disabled(for: reason)) func `takes the ten main verbs`() throws {
        let layers = try prepared()
        try layers.run([
            "add release-1 --version 4", "activate 4", "checkout 4 out", "boot", "activate 3",
            "retire 4", "retire 2", "add release-2 --version 2", "publish 2 origin",
            "pull origin --version 5 --keep", "gc --keep 2", "fsck --deep", "du",
        ]).ended()
    }

    @Test(.disabled(for: reason)) func `is repaired where directories must go`() throws {
        let layers = try prepared()
        let (place, lower) = (layers.place, "lower/.castree")
        // A tree of no version, and a directory in the place of an object that no version names.
        try place.write(["inner/file": "x"], to: "\(lower)/versions/stray")
        chmod(place.path("\(lower)/versions/1/js"), 0o755)
        try place.remove("\(lower)/versions/1/js/app.js")
        let address =
            try place.run(.castree, ["--store", lower, "show", "3", "--json"])
            .document(.shown).entries[0].address.text
        let object = place.object(address, in: lower)
        try place.remove(object)
        try place.write(["a/b/c": "y"], to: object)
        let finished = try layers.run(["fsck --repair"])
        expect([1, 4].contains(finished.status), "\(finished)")
        expect(!finished.errors.contains("Invalid cross-device link"), "\(finished)")
    }

    @Test(.disabled(for: reason))
    func `keeps what only a tree shows that cannot be renamed`() throws {
        let layers = try prepared()
        let lower = layers.place.directory.appending(path: "lower/.castree")
        let addresses =
            try layers.place.run(
                .castree, ["--store", lower.path, "show", "1", "--json"]
            ).document(.shown).entries.map(\.address)
        let files = FileManager.default
        try files.moveItem(
            at: lower.appending(path: "versions/1"), to: lower.appending(path: "versions/1 (old)"))
        for name in ["manifests/1.json", "index.sqlite"] {
            try files.removeItem(at: lower.appending(path: name))
        }
        for address in addresses {
            try layers.run(["gc", "cat \(address)"]).ended()
        }
        let repaired = try layers.run(["fsck --repair"])
        expect(!repaired.errors.contains("cross-device"), "\(repaired)")
        expect(repaired.text.contains("stray-1-old"), "\(repaired)")
    }
}
