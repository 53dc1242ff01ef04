import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// What clients were offered, as somebody else wrote it, cut it, put it back from a backup or edited it.
@Suite("A history that is not as castree left it") struct HostileHistoryTests {
    private struct Change: Sendable {
        let name: String
        let text: @Sendable (ClientHistory) -> String

        init(_ name: String, text: @escaping @Sendable (ClientHistory) -> String) {
            self.name = name
            self.text = text
        }

        init(_ name: String, _ change: @escaping @Sendable (inout ClientHistory) -> Void) {
            self.init(name) { history in
                var changed = history
                change(&changed)
                return String(decoding: changed.serialized(), as: UTF8.self)
            }
        }
    }

    private static func replacing(_ old: String, by new: String) -> Change {
        Change("\(old) is \(new)") { history in
            String(decoding: history.serialized(), as: UTF8.self)
                .replacingOccurrences(of: old, with: new)
        }
    }

    private static let max = ChannelPointer.sequenceMax

    private static let changes: [Change] = [
        replacing("\"castreeHistory\":1", by: "\"castreeHistory\":9007199254740991"),
        replacing("\"castreeHistory\":1", by: "\"castreeHistory\":9223372036854775807"),
        replacing("\"castreeHistory\":1", by: "\"castreeHistory\":null"),
        replacing(",", by: ", "), replacing("\"offers\":", by: "\"offers\":[],\"others\":"),
        Change("empty", text: { _ in "" }), Change("half", text: { _ in "{\"half\":" }),
        Change("deep", text: { _ in String(repeating: "[", count: 100_000) }),
        Change("the largest label was given") { $0.labelCount = max },
        Change("no label was given") { $0.labelCount = 0 },
        Change("a label above all numbers") { history in
            for position in history.offers.indices {
                history.offers[position].label = "v9223372036854775807"
            }
        },
        Change("one label for all") { history in
            for position in history.offers.indices { history.offers[position].label = "v1" }
        },
        Change("the latest of all times") { $0.offers[$0.offers.count - 1].createdAt = max },
        Change("the largest sequence") { $0.offers[$0.offers.count - 1].sequence = max },
        Change("no ids") { history in
            for position in history.offers.indices {
                history.offers[position].label = nil
                history.offers[position].packageHash = nil
                history.offers[position].archive = nil
            }
        },
        Change("a giant string") {
            $0.offers[0].id = String(repeating: "x", count: 1 << 20)
        },
        Change("without its newest") { _ = $0.offers.removeLast() },
        Change("without any offer") { $0.offers = [] },
        Change("from a backup") { ($0.offers, $0.labelCount) = ([$0.offers[0]], 1) },
    ]

    private let place: AnnouncingPlace
    private let sound: [ClientSystem: ClientHistory]
    private static let rules: [any ClientFeed.Type] = [CodePush.self, TimedFeed.self]

    init() throws {
        place = try AnnouncingPlace()
        try place.publish("1")
        for system in [ClientSystem.codePush, .expo] {
            try ClientAnnouncing(rules: Self.rules).enable(
                AnnouncingPlace.configuration(system), by: place.publisher(Self.announcing))
        }
        try place.publish("2", Self.announcing)
        sound = try [.codePush: place.history(.codePush), .expo: place.history(.expo)]
    }

    private static var announcing: ClientAnnouncing { ClientAnnouncing(rules: rules) }

    private static let verbs: [AnnouncingVerb] = [
        .publish, .repeated, .withdraw, .prune, .enable, .disable,
    ]

    /// What is not as it must be after a verb.
    private func problems(
        _ verb: AnnouncingVerb, _ place: AnnouncingPlace, _ system: ClientSystem, _ path: String
    ) throws -> [String] {
        let before = try place.offered()
        let said = place.notices.all.count
        do {
            try verb.run(place, Self.announcing, of: system)
        } catch let error as StoreError {
            if [.withdraw, .prune, .disable].contains(verb) {
                return ["held up: \(error.message)"]
            }
            let names = error.message.contains(path) && error.message.contains("castree ")
            return try (names ? [] : ["says \(error.message)"])
                + (place.offered() == before ? [] : ["is offered all the same"])
        }
        if verb == .disable
            || place.notices.all.dropFirst(said).contains(where: { $0.contains(path) })
        {
            return []
        }
        let rules = try require(Self.rules.first { $0.system == system })
        var problems: [String] = []
        do {
            let pointer = try require(try place.reader.pointer(.stable))
            let history = try place.history(system)
            let live = ClientChannel(pointer, history).live
            for release in pointer.releases
            where !live.contains(where: {
                $0.release.sequence == release.sequence && !rules.isIncomplete($0.offer)
            }) {
                problems.append("tells nothing of \(release.version?.name.description ?? "")")
            }
            // Clients may know a label with other content.
            for offer in history.offers {
                for known in sound[system]?.offers ?? []
                where known.label != nil && known.label == offer.label
                    && known.version?.content != offer.version?.content
                {
                    problems.append("gives \(known.label ?? "") again")
                }
            }
        } catch let error as StoreError {
            problems.append("leaves what nobody reads: \(error.message)")
        }
        return problems
    }

    @Test(
        "leaves no release out unsaid, is named with what to do, and holds up no withdrawal, no prune and no end",
        arguments: [ClientSystem.codePush, .expo])
    func changed(_ system: ClientSystem) throws {
        let history = try require(sound[system])
        let path = OriginLayout.clientHistory(of: .stable, system.rawValue)
        for change in Self.changes {
            for verb in Self.verbs {
                let copy = place.withOrigin("copy")
                Damage.remove(copy.origin)
                try FileManager.default.copyItem(atPath: place.origin, toPath: copy.origin)
                try Damage.overwriteOrCreate(
                    copy.origin + "/" + path, with: Array(change.text(history).utf8))
                copy.clock.advance(10)
                for problem in try problems(verb, copy, system, path) {
                    Issue.record("\(change.name) | \(verb) | \(problem)")
                }
            }
        }
    }
}
