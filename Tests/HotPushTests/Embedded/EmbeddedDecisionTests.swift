import StorageTestSupport

@testable import HotPush

@Suite("A decision about an embedded version") struct EmbeddedDecisionTests {
    typealias Rival = EmbeddedDecision.Rival

    private static func rival(
        order: Int64? = nil, isSame: Bool = false, isFit: Bool = true, wasEmbedded: Bool = false
    ) -> Rival {
        Rival(version: "p", isSame: isSame, order: order, isFit: isFit, wasEmbedded: wasEmbedded)
    }

    /// Its order, whether it wins when in doubt, its rival, and whether it wins.
    static let cases: [(Int64?, Bool, Rival?, Bool)] = [
        (nil, true, nil, true), (nil, false, nil, true),
        // Orders say which is newer.
        (5, true, rival(order: 6), false), (5, false, rival(order: 4), true),
        (5, false, rival(order: 5), true),
        // They do not.
        (nil, true, rival(order: 6), true), (5, true, rival(), true), (5, false, rival(), false),
        // The app was updated and nothing was downloaded since.
        (nil, false, rival(wasEmbedded: true), true),
        // Equal content stays where it is.
        (9, true, rival(order: 1, isSame: true), false),
        // What the app cannot run is not shown, however new.
        (5, false, rival(order: 6, isFit: false), true),
        (5, false, rival(isSame: true, isFit: false), true),
    ]

    @Test(arguments: cases)
    func `weighs it against what is current and what waits`(
        order: Int64?, winsWhenInDoubt: Bool, rival: Rival?, wins: Bool
    ) {
        let current = EmbeddedDecision.decide(
            order: order, winsWhenInDoubt: winsWhenInDoubt, current: rival, pending: nil)
        expect(current.becomesCurrent, equals: wins)
        expect(!current.dropsPending && current.reason.contains(" "))
        guard let rival else { return }
        let pending = EmbeddedDecision.decide(
            order: order, winsWhenInDoubt: winsWhenInDoubt, current: nil, pending: rival)
        expect(pending.becomesCurrent)
        expect(pending.dropsPending, equals: (wins || rival.isSame))
    }
}
