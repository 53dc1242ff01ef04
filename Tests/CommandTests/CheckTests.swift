import Foundation
import ProgramTestSupport
import Testing

/// `castree fsck` and `castree-fsck`, whose exit statuses are those of fsck(8).
@Suite struct CheckTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add("1", Release.first, "--activate")
    }

    private func damage() throws -> String {
        let address = try place.address(of: "index.html", in: "1")
        try place.damage(place.object(address))
        return address
    }

    @Test(arguments: [
        ["fsck"], ["fsck", "--deep"], ["fsck", "--repair"], ["fsck", "--deep", "--repair"],
    ])
    func `a sound store is clean`(_ arguments: [String]) throws {
        let checked = try place.run(.castree, arguments + ["--json"])
        #expect(checked.status == 0)
        let report = try checked.document(CheckDocument.self)
        #expect(report.findings.isEmpty)
        #expect(report.checkedObjects == Release.first.count)
        #expect(report.checkedBytes == Release.first.values.reduce(0) { $0 + $1.utf8.count })
        #expect(report.checkedTrees == 1)
    }

    @Test(arguments: [
        ["fsck", "--probe"], ["fsck", "./origin"], ["fsck", "s3://NO/app"],
        ["fsck", "s3://updates/app", "--since", "7d"],
        ["fsck", "s3://updates/app", "--repair", "--dry-run"],
        ["fsck", "s3://updates/app", "--sample", "5"],
        ["fsck", "s3://updates/app", "--limit-rate", "5M"],
        ["fsck", "--endpoint", "http://127.0.0.1:1"], ["fsck", "--timeout", "5s"],
        ["fsck", "--from", "./origin", "--anonymous"],
        ["fsck", "S3://updates/app"], ["fsck", "s3:/updates"], ["fsck", "s3://updates//app"],
    ])
    func `what means nothing for a store, or for an origin, is refused`(
        _ arguments: [String]
    ) throws {
        #expect(try place.run(.castree, arguments).status == 16)
    }

    @Test func `a repair of a bucket refuses a store or an origin that is not there`() throws {
        let bucket = [
            "fsck", "s3://updates/app", "--endpoint", "http://127.0.0.1:1", "--anonymous",
        ]
        let store = try place.run(
            .castree, bucket + ["--repair", "--store", "nowhere", "--json"])
        #expect(store.status == 8)
        #expect(try store.error().code == "noStore")
        let origin = try place.run(.castree, bucket + ["--from", "./nowhere", "--json"])
        #expect(origin.status == 8)
        #expect(try origin.error().code == "noOrigin")
    }

    @Test func `damage is found, told with its place, and left alone`() throws {
        let address = try damage()
        for deep in [[], ["--deep"]] {
            let checked = try place.run(.castree, ["fsck", "--json"] + deep)
            #expect(checked.status == 4)
            let finding = try #require(try checked.document(CheckDocument.self).findings.first)
            #expect(finding.kind == "damagedObject")
            #expect(finding.object == address)
            #expect(finding.version == "1")
            #expect(finding.path == "index.html")
            #expect(!finding.repaired)
        }
        let told = try place.castree("fsck")
        #expect(told.text.contains("damagedObject"))
        #expect(told.text.contains("castree fsck --repair"))
        #expect(place.exists(place.object(address)))
    }

    @Test func `damage is repaired with --repair, and then the store is clean`() throws {
        _ = try damage()
        try place.add("2", Release.second, "--activate")
        let repaired = try place.castree("fsck", "--repair", "--json")
        #expect(repaired.status == 1)
        #expect(try repaired.document(CheckDocument.self).findings.allSatisfy(\.repaired))
        #expect(try place.castree("fsck").status == 0)
    }

    @Test func `a current version that lost content is left, until the content is back`() throws {
        _ = try damage()
        let repaired = try place.castree("fsck", "--repair", "--json")
        #expect(repaired.status == 4)
        let findings = try repaired.document(CheckDocument.self).findings
        #expect(findings.map(\.kind) == ["damagedObject", "incompleteVersion"])
        #expect(findings.map(\.repaired) == [true, false])
        #expect(try place.castree("fsck").status == 4)
        #expect(try place.castree("add", "release-1", "--version", "1").status == 0)
        #expect(try place.castree("fsck").status == 0)
    }

    @Test func `what cannot be repaired is left, with status 4`() throws {
        // A manifest is made again from its tree; without one nothing says what was in it.
        let tree = place.directory.appending(path: ".castree/versions/1").path
        let walk = FileManager.default.enumerator(atPath: tree)
        let inner = walk.map { $0.compactMap { $0 as? String } } ?? []
        for name in [""] + inner.map({ "/" + $0 }) {
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: tree + name, isDirectory: &isDirectory),
                isDirectory.boolValue
            {
                chmod(tree + name, 0o755)
            }
        }
        try FileManager.default.removeItem(atPath: tree)
        try Data("x".utf8).write(
            to: place.directory.appending(path: ".castree/manifests/1.json"))
        for repair in [[], ["--repair"]] {
            let checked = try place.run(.castree, ["fsck", "--json"] + repair)
            #expect(checked.status == 4)
            let findings = try checked.document(CheckDocument.self).findings
            let finding = try #require(findings.first { $0.kind == "damagedManifest" })
            #expect(finding.object == nil)
            #expect(!finding.repaired)
            #expect(checked.text.contains("\"object\":null"))
        }
    }

    @Test func `a store that cannot be checked is status 8`() throws {
        let refused = try place.castree("--store", "nowhere", "fsck", "--json")
        #expect(refused.status == 8)
        #expect(try refused.error().code == "noStore")
        try place.write(["FORMAT": "castree 99\n"], to: "future")
        #expect(try place.castree("--store", "future", "fsck").status == 8)
    }

    @Test func `a wrong command line is status 16`() throws {
        #expect(try place.castree("fsck", "--deeper").status == 16)
        #expect(try place.castree("fsck", "surplus").status == 16)
        #expect(try place.checker().status == 16)
        #expect(try place.checker("--wrong", ".castree").status == 16)
        #expect(try place.checker("chekc", ".castree").errors.contains("'check'"))
    }

    @Test func `castree-fsck checks a store that is an operand`() throws {
        for arguments in [[".castree"], ["check", ".castree"], ["check", "--deep", ".castree"]] {
            let checked = try place.run(.checker, arguments + ["--json"])
            #expect(checked.status == 0)
            #expect(
                try checked.document(CheckDocument.self).checkedObjects == Release.first.count)
        }
        #expect(try place.checker("nowhere").status == 8)
    }

    @Test func `castree-fsck finds and repairs as castree fsck does`() throws {
        _ = try damage()
        let ours = try place.castree("fsck", "--json")
        let theirs = try place.checker("--json", ".castree")
        #expect(ours.text == theirs.text)
        #expect(theirs.status == 4)
        #expect(try place.checker(".castree").text.contains("castree-fsck repair .castree"))
        // The current version lacks an object until it is added again.
        #expect(try place.checker("repair", ".castree").status == 4)
        #expect(try place.castree("add", "release-1", "--version", "1").status == 0)
        #expect(try place.checker(".castree").status == 0)
    }

    @Test func `castree-fsck collects and measures as castree does`() throws {
        try place.add("2", Release.second)
        try place.castree("retire", "2")
        // A second may pass between the two.
        let moment = /"takenAt":\d+/
        let usage = try place.castree("du", "1", "--json").text.replacing(moment, with: "")
        let other = try place.checker("du", ".castree", "1", "--json").text
        #expect(other.contains(moment) && other.replacing(moment, with: "") == usage)
        #expect(try place.checker("du", ".castree", "9").status == 3)
        let plan = try place.castree("gc", "--dry-run", "--json")
        #expect(try place.checker("gc", "--dry-run", ".castree", "--json").text == plan.text)
        let done = try place.checker("gc", ".castree", "--json").document(CollectDocument.self)
        #expect(done.objects == 2)
        #expect(try place.checker("gc", "nowhere").status == 3)
        #expect(try place.checker("gc", "--wrong", ".castree").status == 2)
    }
}
