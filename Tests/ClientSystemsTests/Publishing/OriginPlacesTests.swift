import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// Each place of an origin in a directory, with each thing that may stand there and is not castree's, under every verb.
@Suite("A stranger in a place of an origin") struct OriginPlacesTests {
    private static let verbs: [AnnouncingVerb] = [
        .publish, .verify, .withdraw, .prune, .plan, .enable, .disable, .status,
    ]

    /// Without these nobody knows what is offered, or nobody may change it.
    private static let needed = [
        "origin.json", "channels", "channels/stable.json", "objects", "manifests", ".publish",
        ".publish/lock", "log",
    ]

    /// The same, and the newest entries of the log from that on in which the channel's pointer stands.
    private func isNeeded(_ path: String) -> Bool {
        Self.needed.contains(path) || path >= newest && path.hasPrefix("log/")
    }

    private let newest: String

    /// What may stand there besides what is available.
    private static let others = [
        ".publish/staging", ".publish/work-0123456789abcdef", "channels/.stable.json.new",
        ".channels.json.new", "for/expo/.stable.json.new", "for/capgo", "channels/beta.json",
    ]

    private let place: AnnouncingPlace
    /// The places, one of each kind.
    private let paths: [String]

    init() throws {
        place = try AnnouncingPlace()
        try place.publish("1")
        try place.enable(.codePush, .expo)
        var packing = place.publisher()
        packing.options.packs.timing = .before
        packing.options.packs.level = 1
        place.clock.advance(10)
        try packing.publish("2", of: place.versions)
        _ = try place.publisher().collect(OriginRetention(releaseCount: 9, graceSeconds: 3600))
        let pointer = try require(try place.reader.pointer(.stable))
        newest = OriginLayout.logEntry(try require(pointer.log))
        let release = try require(pointer.releases.first)
        let named = [
            release.version?.manifest, release.facts?.address, release.delivery?.address,
        ].compactMap { $0?.description }
        var seen: Set<String> = []
        let digits = try Regex("[0-9a-f]{62,64}")
        let shard = try Regex("/[0-9a-f]{2}(?=$|/)")
        let documents = ["manifests/", "facts/", "deliveries/"]
        paths =
            Damage.names(place.origin).filter { name in
                if documents.contains(where: name.hasPrefix), !named.contains(where: name.contains)
                {
                    return false
                }
                return seen.insert(name.replacing(digits, with: "#").replacing(shard, with: "/@"))
                    .inserted
            } + Self.others
    }

    private enum Kind: CaseIterable {
        case nothing, empty, damaged, newer, directory, fifo, socket, link, nowhere, itself
    }

    /// - Returns: whether it is a stranger there.
    private func put(_ kind: Kind, at path: String, of place: AnnouncingPlace) throws -> Bool {
        let full = place.origin + "/" + path
        var isDirectory: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory)
        let outside = place.origin + "-outside"
        switch kind {
        case .nothing where isThere: try Damage.replace(full, by: .nothing)
        case .empty where !isDirectory.boolValue: try Damage.replace(full, by: .emptyFile)
        case .damaged where !isDirectory.boolValue:
            try Damage.replace(full, by: .emptyFile)
            try Damage.overwrite(full, with: Array("{\"half\":".utf8))
        case .newer where isThere && !isDirectory.boolValue:
            let text = String(decoding: try Damage.contents(full), as: UTF8.self)
            let newer = text.replacing(
                try Regex("\"castree(Channel|Clients|History|Origin)\":[0-9]+"), maxReplacements: 1
            ) {
                "\($0.0.prefix { $0 != ":" }):9007199254740991"
            }
            guard newer != text else { return false }
            try Damage.overwrite(full, with: Array(newer.utf8))
        case .directory where !isDirectory.boolValue:
            try Damage.replace(full, by: .directory)
            try Damage.overwriteOrCreate(full + "/mine", with: Array("precious".utf8))
        case .fifo: try Damage.replace(full, by: .fifo)
        case .socket: try Damage.replace(full, by: .socket)
        case .link:
            try Damage.replace(
                full, by: .symbolicLink(isDirectory.boolValue ? outside : outside + "/file"))
        case .nowhere: try Damage.replace(full, by: .symbolicLink(outside + "/nothing"))
        case .itself:
            try Damage.replace(full, by: .symbolicLink((path as NSString).lastPathComponent))
        default: return false
        }
        return true
    }

    private static let advice = [
        "move it away", "delete it", "put ", "castree publish", "use a newer one", "publish",
        "check who owns it", "restore log/", "castree fsck", "castree channels",
    ]

    /// What is not as it must be.
    private func problems(_ verb: AnnouncingVerb, _ kind: Kind, _ path: String) throws -> [String] {
        let copy = place.withOrigin("copy")
        let outside = copy.origin + "-outside"
        for path in [copy.origin, outside] { Damage.remove(path) }
        try FileManager.default.copyItem(atPath: place.origin, toPath: copy.origin)
        try writeTree(outside, ["file": "mine"])
        guard try put(kind, at: path, of: copy) else { return [] }
        var problems: [String] = []
        do {
            copy.clock.advance(10)
            try verb.run(copy, copy.announcing())
        } catch let error as StoreError {
            // What the path is below, where that was looked for first.
            let names = [
                path, (path as NSString).deletingLastPathComponent, "has format 9007199254740991",
            ]
            if !names.contains(where: { !$0.isEmpty && error.message.contains($0) }),
                kind != .nothing
            {
                problems.append("does not name it: \(error.message)")
            }
            if !Self.advice.contains(where: error.message.contains) {
                problems.append("says not what to do: \(error.message)")
            }
            if verb == .withdraw, !isNeeded(path) {
                problems.append("is held up: \(error.message)")
            }
        }
        if Damage.names(outside) != ["file"] { problems.append("writes outside") }
        let isOwn = path.hasPrefix(".publish/staging") || path.hasPrefix(".publish/work-")
        if kind == .directory, !isOwn,
            !Damage.names(copy.origin).contains(where: { $0.hasSuffix("mine") })
        {
            problems.append("loses what is in a directory")
        }
        if verb == .withdraw, !isNeeded(path), try copy.offered() != ["1"] {
            problems.append("takes nothing back")
        }
        return problems
    }

    @Test(
        "lets every verb end, is named with what to do, loses nothing, and holds up no withdrawal that does without"
    )
    func strangers() throws {
        expect(paths.count > 30)
        let share = TestShare(oneIn: 4, of: "places of an origin")
        var count = 0
        for path in paths {
            for kind in Kind.allCases {
                for verb in Self.verbs {
                    count += 1
                    guard share.takes(count) else { continue }
                    for problem in try problems(verb, kind, path) {
                        Issue.record("\(path) | \(kind) | \(verb) \(problem)")
                    }
                }
            }
        }
    }
}
