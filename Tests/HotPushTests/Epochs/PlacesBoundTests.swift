import StorageTestSupport

@testable import HotPush

/// Places that would be larger than readers take: docs/origin-format.md, *places*.
@Suite struct PlacesBoundTests {
    private func movedCount(_ before: [Int64], _ after: Places) -> Int {
        before.indices.filter { after.epoch(of: $0) != before[$0] }.count
    }

    @Test func `places that are small enough stay as they are`() {
        let places = Places([0, 3, 3, 1, 3] as [Int64])
        expect(places.bounded(by: 1_000, newest: 3), equals: places)
    }

    @Test func `only objects between those of the newest epoch are moved where that is enough`() {
        // A long run that is dear to move, and single objects that are cheap.
        var epochs = Array(repeating: Int64(0), count: 5_000)
        for _ in 0..<200 { epochs += [9, 2] }
        epochs.append(9)
        let places = Places(epochs)
        let after = places.bounded(by: 200, newest: 9)
        expect(after.serialized().count <= 200)
        expect((0..<5_000).allSatisfy { after.epoch(of: $0) == 0 })
        expect(movedCount(epochs, after) <= 200)
    }

    @Test func `whatever the epochs, the file fits, and objects move to the newest epoch only`() {
        var random = SeededRandom(seed: 4)
        for bound in [60, 100, 300, 2_000] {
            let epochs = (0..<400).map { _ in Int64.random(in: 0...4, using: &random) }
            let after = Places(epochs).bounded(by: Int64(bound), newest: 4)
            expect(after.count == 400 && after.serialized().count <= bound)
            for (number, epoch) in epochs.enumerated() {
                let place = after.epoch(of: number)
                expect(place == epoch || place == 4)
            }
        }
    }
}
