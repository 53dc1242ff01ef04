import ProgramTestSupport

@Suite struct ContentTests {
    let place: Workplace

    init() throws { place = try Workplace(adding: "1", Release.first, "--activate") }

    @Test func `cat prints the bytes of a file and of an object`() throws {
        try expect(place.done("cat", "1:index.html").text, equals: Release.first["index.html"])
        try expect(place.done("cat", "1:empty").output.isEmpty)
        let address = try place.address(of: "index.html", in: "1")
        try expect(place.castree("cat", address).text, equals: Release.first["index.html"])
    }

    @Test(arguments: [
        "1:nothing", "1:/index.html", "1:css", "1:../1/index.html", "1:",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ])
    func `cat of what is not there is status 3`(_ subject: String) throws {
        let refused = try place.ended(3, "cat", subject, "--json")
        expect(refused.output.isEmpty)
        try expect(refused.error().code, equals: "notFound")
    }

    @Test func `cat says how what was nearly right is written`() throws {
        try place.ended(
            2, "cat", "1/css/site.css", saying: "; for a file of version 1 write 1:css/site.css\n")
        for text in ["/index.html", "a b/index.html", "1/"] {
            try expect(!place.castree("cat", text).errors.contains("for a file of version"))
        }
        let address = try place.address(of: "index.html", in: "1")
        try place.ended(
            3, "cat", "sha256:" + address, saying: "without that word: castree cat \(address)")
    }

    @Test("of an address the first four digits are enough, where only one object has them")
    func prefixes() throws {
        let address = try place.address(of: "index.html", in: "1")
        for count in [4, 5, 12, 63, 64] {
            let found = try place.castree("cat", String(address.prefix(count)))
            expect(found.text, equals: Release.first["index.html"], "\(count) digits: \(found)")
        }
        try expect(place.castree("cat", String(address.prefix(3))).status, equals: 2)
        try expect(place.castree("cat", address.prefix(12).uppercased()).status, equals: 2)
        let other = address.prefix(4) == "0000" ? "ffff" : "0000"
        try expect(place.castree("cat", other, "--json").error().code, equals: "notFound")
        try expect(place.castree("cat", other).status, equals: 3)
    }

    @Test func `an ambiguous address is refused with what it may be`() throws {
        // Two contents whose SHA-256 begins with the same four digits, by any SHA-256 program.
        let twins = ["a.txt": "157", "b.txt": "251"]
        try place.add("2", twins)
        let addresses = try twins.keys.map { try place.address(of: $0, in: "2") }
        let digits = String(addresses[0].commonPrefix(with: addresses[1]))
        expect((4..<12).contains(digits.count))
        let refused = try place.castree("cat", String(digits.prefix(4)), "--json")
        expect(refused.status == 1 && refused.output.isEmpty)
        let reason = try refused.error()
        expect(reason.code, equals: "ambiguousAddress")
        for (address, path) in zip(addresses, twins.keys) {
            expect(
                reason.message.contains("\(address.prefix(12)) (2:\(path))"), "\(reason.message)")
        }
        for (address, path) in zip(addresses, twins.keys) {
            let longer = String(address.prefix(digits.count + 1))
            try expect(place.castree("cat", longer).text, equals: twins[path])
        }
    }

    @Test func `cat of a damaged object fails`() throws {
        try place.damage(place.object(try place.address(of: "index.html", in: "1")))
        let refused = try place.ended(1, "cat", "1:index.html", "--json")
        try expect(refused.error().code, equals: "damagedObject")
    }

    /// A cat of more than a pipe holds.
    private func largeCat() throws -> (Running, Pipe) {
        let large = String(repeating: "all work and no play\n", count: 200_000)
        try place.add("2", ["large": large])
        let pipe = Pipe()
        let running = try Running(.castree, ["cat", "2:large"], in: place.directory, output: pipe)
        try pipe.fileHandleForWriting.close()
        return (running, pipe)
    }

    @Test func `cat stops without complaint when nobody reads`() throws {
        let (running, pipe) = try largeCat()
        try pipe.fileHandleForReading.close()
        try expect(running.finished().ended().errors.isEmpty)
    }

    @Test func `SIGINT ends cat with status 130`() throws {
        let (running, pipe) = try largeCat()
        // Once the first byte is here, its handlers are installed, and the pipe is too small for all.
        _ = try pipe.fileHandleForReading.read(upToCount: 1)
        running.signal(SIGINT)
        _ = try pipe.fileHandleForReading.readToEnd()
        try expect(running.finished().ended(130).errors.hasPrefix("castree: interrupted"))
    }

    @Test(arguments: [nil, "link", "reflink", "copy"])
    func `checkout builds the tree elsewhere and tells how`(_ mode: String?) throws {
        let words = mode.map { ["--mode", $0] } ?? []
        let built = try place.done("checkout", "1", "target", "--json", words: words)
        let document = try built.document(.checkedOut)
        expect(document.version, equals: "1")
        expect(document.target, equals: "target")
        expect(document.mode, equals: mode ?? "link")
        expect(document.files, equals: Release.first.count)
        expect(
            document.linked.number + document.copied.number + document.reflinked.number,
            equals: document.files.number)
        if ![nil, "link"].contains(mode) { expect(document.linked, equals: 0) }
        for (path, content) in Release.first {
            try expect(place.contents("target/\(path)"), equals: content)
        }
    }

    @Test func `checkout refuses a target that exists`() throws {
        try place.write(["mine": "precious"], to: "target")
        let refused = try place.ended(1, "checkout", "1", "target", "--json")
        try expect(refused.error().code, equals: "targetExists")
        try expect(place.contents("target/mine"), equals: "precious")
    }

    @Test func `missing lists what a repair took away, and add brings it back`() throws {
        let address = try place.address(of: "js/app.js", in: "1")
        try place.damage(place.object(address))
        // 4 where the version is the current one, 1 otherwise: its content is not back yet.
        expect([1, 4].contains(try place.castree("fsck", "--repair").status))
        let answer = try place.castree("missing", "1", "--json")
        let missing = try answer.document(.missing)
        expect(missing.objects.map(\.address), equals: [address])
        expect(missing.objects.map(\.paths), equals: [["js/app.js"]])
        expect(missing.bytes, equals: Release.first["js/app.js"]?.utf8.count)
        expect(answer.text.contains("\"label\":null"))
        expect(missing.objects.map(\.sizeKnown) == [true] && !missing.isLowerBound)
        try expect(place.castree("cat", "1:js/app.js").status, equals: 3)
        try place.done("add", "release-1", "--version", "1")
        try expect(place.castree("missing", "1", "--json").document(.missing).objects.isEmpty)
        try expect(place.castree("cat", "1:js/app.js").text, equals: Release.first["js/app.js"])
    }
}
