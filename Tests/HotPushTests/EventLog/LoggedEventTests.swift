import StorageTestSupport

@testable import HotPush

@Suite("An event of the log") struct LoggedEventTests {
    static let content = ObjectID(String(repeating: "ab", count: 32))

    static func cost() -> UpdateCost {
        var cost = UpdateCost()
        (cost.files, cost.bytes, cost.reusedFiles, cost.reusedBytes) = (1, 2, 3, 4)
        return cost
    }

    static func figures() -> DownloadFigures {
        var figures = DownloadFigures()
        (figures.files, figures.bytes, figures.reusedBytes) = (1, 2, 3)
        (figures.resumedBytes, figures.requests, figures.duration) = (4, 5, .milliseconds(6))
        return figures
    }

    static func all() throws -> [StoreEvent] {
        let content = try require(content)
        return [
            .checked(origin: "https://a.example/b", outcome: .available, version: "2", reason: nil),
            .checked(
                origin: "https://a.example/b", outcome: .failed, version: nil, reason: "refused"),
            .verified(
                origin: "https://a.example/b", channel: "stable", sequence: 7,
                keys: ["0123456789abcdef"]),
            .rotated(origin: "https://a.example/b", version: 2, keys: ["0123456789abcdef"]),
            .trusting(origin: "https://a.example/b", keys: [], threshold: 1),
            .planned(version: "2", cost: cost()), .downloadBegan(version: "2"),
            .downloadEnded(
                version: "2", outcome: .cancelled, figures: figures(), reason: "by the user"),
            .added(version: "2", files: 1, bytes: 2, newObjects: 3, newBytes: 4),
            .retried(reason: "the server answered with status 503", milliseconds: 400),
            .switched(version: "2", from: nil), .switched(version: "2", from: "1"),
            .pending(version: "2"), .withdrawn(version: "2"), .booted(version: "2"),
            .confirmed(version: "2"),
            .rolledBack(version: "1", from: "2", reason: "it crashed\n\"twice\""),
            .banned(version: "2", content: content, reason: "it crashed", count: 2),
            .unbanned(version: "2"), .retired(version: "1", references: 7),
            .collected(objects: 3, bytes: 1 << 40),
            .found(kinds: ["damagedObject": 2, "strayFile": 1], repaired: 3),
            .embedded(version: "3", previous: "1", becameCurrent: true),
            .failed(operation: "check", failure: EventLogFailure(code: "io"), message: "no"),
            .lost(count: 9),
            .checked(
                origin: "https://a.example/b", outcome: .failed, version: nil, reason: "full",
                failure: EventLogFailure(code: "outOfSpace", isOfStore: true)),
            .answering(origin: "https://a.example/b", failures: 3, seconds: 10_800),
            .answering(origin: "https://a.example/b", failures: 1, seconds: nil),
            .stalePage(version: "2", shown: "1"), .stalePage(version: "2", shown: nil),
            .downloadEnded(
                version: "2", outcome: .failed, figures: figures(), reason: "full",
                failure: EventLogFailure(code: "outOfSpace", isOfStore: true)),
        ]
    }

    @Test func `survives being written and read`() throws {
        for (number, event) in try Self.all().enumerated() {
            let entry = EventLogEntry(sequence: Int64(number), at: 1_760_000_000, event: event)
            let line = entry.line
            expect(line.last == 10 && line.count { $0 == 10 } == 1, "\(event)")
            expect(EventLogEntry(line: line.dropLast()), equals: entry)
            expect(!event.sentence.isEmpty)
        }
    }

    @Test func `knows the failure of servers that let another program fetch`() {
        let failure = EventLogFailure(code: "noFetchingProgram")
        expect(failure.isOfStore && failure.isLasting)
    }

    @Test func `counts in words: one request, two requests`() {
        for number in [1, 2] {
            let bytes = Int64(number)
            var cost = UpdateCost()
            (cost.files, cost.bytes, cost.reusedFiles, cost.reusedBytes) = (
                number, bytes, number, bytes
            )
            var figures = DownloadFigures()
            (figures.files, figures.bytes, figures.reusedBytes) = (number, bytes, bytes)
            figures.requests = number
            let events: [StoreEvent] = [
                .planned(version: "v", cost: cost),
                .downloadEnded(version: "v", outcome: .finished, figures: figures, reason: nil),
                .added(
                    version: "v", files: number, bytes: bytes, newObjects: number, newBytes: bytes),
                .retired(version: "v", references: number),
                .collected(objects: number, bytes: bytes), .lost(count: number),
                .fellBack(pack: nil, reason: "x", objects: number),
                .answering(origin: "o", failures: number, seconds: nil),
            ]
            let nouns = ["file", "byte", "request", "object", "event", "failure"]
            let sentences = events.map(\.sentence)
            for sentence in sentences {
                let words = sentence.replacing("new ", with: "").split { " ,;:".contains($0) }
                for (count, noun) in zip(words, words.dropFirst()) where count == "\(number)" {
                    guard let name = nouns.first(where: { noun.hasPrefix($0) }) else { continue }
                    expect(noun == (number == 1 ? name : name + "s"), "\(sentence)")
                }
            }
            for noun in nouns {
                expect(sentences.contains { $0.contains("\(number) \(noun)") || noun == "object" })
            }
        }
    }

    @Test func `of a newer castree is kept as it is, and one with missing fields too`() throws {
        let lines = [
            #"{"at":5,"event":"teleported","sequence":2,"to":"mars"}"#,
            #"{"at":5,"event":"retire","sequence":2,"to":"mars"}"#,
        ]
        for (line, name) in zip(lines, ["teleported", "retire"]) {
            let entry = try require(EventLogEntry(line: Array(line.utf8)))
            expect(
                entry.event,
                equals: StoreEvent(name, ["to": .string("mars")]))
            expect(entry.sentence == nil || entry.line == Array(line.utf8) + [10])
        }
    }

    @Test(arguments: [
        "", "{", #"{"at":5,"event":"boot","sequence":2,"version":"#, "[]", "7", "null",
        #"{"event":"boot","sequence":2}"#, #"{"at":5,"event":7,"sequence":2}"#,
        #"{"at":5,"event":"boot","sequence":-2}"#, "\u{0}\u{0}\u{0}",
    ])
    func `is not read from a torn or foreign line`(line: String) {
        expect(EventLogEntry(line: Array(line.utf8)) == nil)
    }

    @Test(arguments: [
        ("https://h.example/a/b", "https://h.example/a/b"),
        ("https://user:secret@h.example:8080/a", "https://h.example:8080/a"),
        ("https://u@h/a@b/c", "https://h/a@b/c"),
        ("https://a:b@c:d@h/", "https://h/"),
        ("http://h/a?token=abc&x=y#frag", "http://h/a?token=*&x=*"),
        ("http://h/a?abcdef", "http://h/a?*"),
        ("http://h?k=v", "http://h?k=*"),
        (
            "no answer from \"http://a:b@h/x?y=z\", try again",
            "no answer from \"http://h/x?y=*\", try again"
        ),
        ("/app.js?hash=0123", "/app.js?hash=*"),
        ("http://a:b@h1,http://c:d@h2/", "http://h1,http://h2/"),
        ("what?", "what?"), ("", ""), ("plain words: a@b", "plain words: a@b"),
    ])
    func `holds no password, no token and no fragment of a URL`(text: String, expected: String) {
        expect(redacted(text), equals: expected)
    }

    @Test(arguments: [
        ("Hash mismatch for asset: /app/private photo (1).jpg", "Hash mismatch for asset: …"),
        (
            "Non-success status code 500 for asset: /a b: c.js (http://h/a%20b.js); try again",
            "Non-success status code 500 for asset: … (http://h/…); try again"
        ),
        (
            "\"a dir/b.js\" is not what the release says: try again",
            "\"…\" is not what the release says: try again"
        ),
        ("\"a\" and \"b\" would be one file", "\"…\" and \"…\" would be one file"),
        ("the path \"a\"b/c.js\" is refused", "the path \"…\" is refused"),
        (
            "unable to open /srv/my store/versions/2/a.js: No such file; free space",
            "unable to open …: No such file; free space"
        ),
        ("unable to open /srv/a.js: No space left", "unable to open …: No space left"),
        (
            "connection reset: https://h.example:8080/app/secret.js",
            "connection reset: https://h.example:8080/…"
        ),
        ("(https://h) answered 503", "(https://h) answered 503"),
        ("https://h/ answered 503", "https://h/… answered 503"),
        (
            "https://h/ has no channel \"beta\" (it answered 404)",
            "https://h/… has no channel \"beta\" (it answered 404)"
        ),
        ("version \"1\" is banned", "version \"1\" is banned"),
        ("sent as \"br\", and \"a.js\" lost", "sent as \"br\", and \"…\" lost"),
        ("version 1 has no file \"photo\"", "version 1 has no file \"…\""),
        ("css/site.css is missing, too", "… is missing, too"),
        ("the network is gone; 3 of 7, 50 %", "the network is gone; 3 of 7, 50 %"), ("", ""),
        ("/", "…"), ("\"", "\"…\""), ("a: ", "a: "),
        ("redirected (to https://)", "redirected (to https://)"), ("http://", "http://"),
        ("https://,", "https://,"), ("x://", "x://"), ("://", "://"),
        ("https:///etc/passwd.", "https:///…."),
    ])
    func `tells of an error without the names of files`(text: String, expected: String) {
        expect(withoutPaths(text), equals: expected)
    }

    @Test func `with a very long text is one short line of valid UTF-8`() throws {
        let text = String(repeating: "é\u{0}\n", count: 20_000)
        let entry = EventLogEntry(
            sequence: 1, at: 2,
            event: .failed(operation: text, failure: EventLogFailure(code: text), message: text))
        expect(entry.line.count < 16 << 10)
        let read = try require(EventLogEntry(line: entry.line.dropLast()))
        let message = try require(read.event.text("message"))
        expect(message.hasPrefix("é\né") && message.hasSuffix("…"))
    }
}

extension EventLogEntry {
    fileprivate var sentence: String? { event.sentence.isEmpty ? nil : event.sentence }

    fileprivate init?(line: ArraySlice<UInt8>) { self.init(line: Array(line)) }
}
