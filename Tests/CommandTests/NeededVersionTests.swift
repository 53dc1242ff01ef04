import ProgramTestSupport

/// What `castree status` says of the versions that may be gone back to, or of which a copy of the store has lost something.
@Suite struct NeededVersionTests {
    private let place = Workplace()

    private func status() throws -> JSON { try place.status() }

    @Test(arguments: ["banned", "of the same content", "cut"])
    func `no way back is named that a rollback would not take`(_ kind: String) throws {
        if kind == "banned" { try place.write(Release.second, to: "embedded") }
        if kind == "banned" { try place.castree("adopt", "embedded", "--version", "0") }
        try place.add("1", Release.first, "--activate")
        try place.start()
        switch kind {
        case "banned":
            try place.castree("activate", "0")
            try place.done("rollback")
        case "of the same content": try place.add("2", Release.first, "--activate")
        default:
            try place.add("2", Release.second, "--activate")
            try expect(status().wayBack, equals: "1")
            // An index that is made again does not know the version.
            try copyWithoutVersion("1")
        }
        let status = try place.castree("status", "--json").document(.status)
        expect(status.wayBack.isNull && status.well.isTrue == (kind != "cut"), "\(status.problems)")
        try expect(place.castree("rollback", "--json").error().code, equals: "nothingToRollBackTo")
    }

    @Test func `status, lifecycle and rollback name one way back, to what was shown last`() throws {
        for (version, operation) in [("1", "1"), ("3", "3"), ("4", "1")] {
            try place.write(["index.html": version], to: "r\(version)")
            try place.castree("add", "r\(version)", "--version", version)
            try place.castree("activate", operation)
            guard version == operation else {
                try place.castree("activate", version, "--at-next-boot")
                _ = try place.boot()
                continue
            }
            try place.start()
        }
        try expect(status().wayBack, equals: "1")
        let lines = try place.castree("lifecycle").text.split(separator: "\n")
        let named = lines.filter { $0.hasPrefix("way back") }.map { $0.split(separator: " ").last }
        expect(named, equals: ["1"], "\(lines)")
        try place.done("rollback")
        try expect(status().current, equals: "1")
    }

    /// Pulls versions 1 and 2, and confirms each.
    private func pullBoth() throws {
        for version in ["1", "2"] {
            try place.write(["index.html": version], to: "r")
            try place.done("--store", "p", "add", "r", "--version", version)
            try place.done("--store", "p", "publish", version, "o")
            try place.done("pull", "o", "--activate")
            try place.start()
        }
    }

    /// Makes the store a copy in which a version has no tree and half a manifest.
    private func copyWithoutVersion(_ version: String) throws {
        let script = """
            cp -a .castree copy && chmod -R u+w .castree && rm -r .castree && mv copy .castree && cd .castree && \
            chmod -R u+w versions/\(version) manifests/\(version).json && rm -r versions/\(version) && \
            truncate -s 100 manifests/\(version).json
            """
        try place.shell(script).ended()
    }

    @Test(arguments: ["1", "2"])
    func `a cut manifest of which nothing else is left is named, and fetched by a repair`(
        _ version: String
    ) throws {
        try pullBoth()
        try copyWithoutVersion(version)
        let problems = try place.castree("status", "--json").document(.status).problems
        let cut = try require(problems.first { $0.code == "damagedManifest" })
        expect(cut.version.text == version, "\(problems)")
        expect(cut.message.text.contains("fsck --from"), "\(cut)")
        try place.ended(1, "fsck", "--from", "o")
        try place.done("fsck")
        let status = try status()
        expect(status.well.isTrue && status.current == "2" && status.wayBack == "1")
    }

    @Test(arguments: ["index.sqlite", "versions/2"])
    func `one repair brings back manifests, lifecycle, and index or tree`(_ other: String) throws {
        try pullBoth()
        let script =
            "cd .castree && chmod -R u+w versions && rm -rf manifests/* lifecycle.json \(other)"
        try expect(place.shell(script).status, equals: 0)
        try place.ended(1, "fsck", "--from", "o")
        try place.done("fsck", "--from", "o")
        try expect(status().current, equals: "2")
    }

    @Test func `an object that was cut in a copy is named, and not its manifest`() throws {
        try place.add("1", Release.first, "--activate")
        let address = try place.address(of: "index.html", in: "1")
        let path = place.object(address)
        try expect(
            place.shell("cp -a .castree copy; rm -rf .castree; mv copy .castree")
                .status, equals: 0)
        try Damage.truncate(place.directory.appending(path: path).path, to: 2)
        let problems = try place.castree("status", "--json").document(.status).problems
        expect(
            problems.contains { $0.code == "damagedObject" && $0.message.text.contains(address) },
            "\(problems)")
        expect(!problems.contains { $0.code == "falseManifest" }, "\(problems)")
    }
}
