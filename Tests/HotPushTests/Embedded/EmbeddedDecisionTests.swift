import Expectations
import VersionTree

@testable import HotPush

@Suite("A decision about an embedded version") struct EmbeddedDecisionTests {
    typealias Rival = EmbeddedDecision.Rival

    private static func rival(
        order: Int64? = nil, isSame: Bool = false, isFit: Bool = true, wasEmbedded: Bool = false
    ) -> Rival {
        Rival(version: "p", isSame: isSame, order: order, isFit: isFit, wasEmbedded: wasEmbedded)
    }

    struct Case: Sendable {
        var order: Int64?
        var winsWhenInDoubt: Bool
        var rival: Rival?
        var wins: Bool
    }

    static let cases: [Case] = [
        Case(order: nil, winsWhenInDoubt: true, rival: nil, wins: true),
        Case(order: nil, winsWhenInDoubt: false, rival: nil, wins: true),
        // Orders say which is newer.
        Case(order: 5, winsWhenInDoubt: true, rival: rival(order: 6), wins: false),
        Case(order: 5, winsWhenInDoubt: false, rival: rival(order: 4), wins: true),
        Case(order: 5, winsWhenInDoubt: false, rival: rival(order: 5), wins: true),
        // They do not.
        Case(order: nil, winsWhenInDoubt: true, rival: rival(order: 6), wins: true),
        Case(order: 5, winsWhenInDoubt: true, rival: rival(), wins: true),
        Case(order: 5, winsWhenInDoubt: false, rival: rival(), wins: false),
        // The app was updated and nothing was downloaded since.
        Case(order: nil, winsWhenInDoubt: false, rival: rival(wasEmbedded: true), wins: true),
        // Equal content stays where it is.
        Case(order: 9, winsWhenInDoubt: true, rival: rival(order: 1, isSame: true), wins: false),
        // What the app cannot run is not shown, however new.
        Case(order: 5, winsWhenInDoubt: false, rival: rival(order: 6, isFit: false), wins: true),
        Case(
            order: 5, winsWhenInDoubt: false, rival: rival(isSame: true, isFit: false), wins: true),
    ]

    @Test(arguments: cases)
    func `weighs it against what is current and what waits`(_ example: Case) {
        let current = EmbeddedDecision.decide(
            order: example.order, winsWhenInDoubt: example.winsWhenInDoubt, current: example.rival,
            pending: nil)
        expect(current.becomesCurrent, equals: example.wins)
        expect(!current.dropsPending && current.reason.contains(" "))
        guard let rival = example.rival else { return }
        let pending = EmbeddedDecision.decide(
            order: example.order, winsWhenInDoubt: example.winsWhenInDoubt, current: nil,
            pending: rival)
        expect(pending.becomesCurrent)
        expect(pending.dropsPending, equals: (example.wins || rival.isSame))
    }
}
