import OriginTestSupport
import Zstandard

@testable import Origin

@Suite("Work that cannot be stopped") struct UnstoppableWorkTests {
    @Test func `is waited for, and what it gives or throws is handed on`() throws {
        try expect(UnstoppableWork.run(unless: { false }) { 7 }, equals: 7)
        expectRefusal(.outOfMemory) {
            try UnstoppableWork.run(unless: { false }) { () throws(StoreError) -> Int in
                throw StoreError(.outOfMemory, "no space")
            }
        }
    }

    @Test func `is not waited for when somebody interrupts it`() {
        let (begins, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isDone = Atomic<Bool>(false)
        expectRefusal(.interrupted) {
            try UnstoppableWork.run(unless: { begins.wait(timeout: .now()) == .success }) {
                begins.signal()
                ends.wait()
                isDone.store(true, ordering: .releasing)
            }
        }
        expect(!isDone.load(ordering: .acquiring))
        ends.signal()
    }

    @Test func `a frame that takes long has the bytes that one call of the encoder gives`() throws {
        let fixture = try PackingFixture()
        for version in ["r1", "r2"] { try fixture.publish(version) { $0.packs.level = 10 } }
        let old = Array(try require(PackingFixture.files(1)["js/app.7919.js"]).utf8)
        let new = Array(try require(PackingFixture.files(2)["js/app.15838.js"]).utf8)
        let recipe = FrameRecipe(
            objects: [Reference(address: try ObjectID(of: new), byteCount: Int64(new.count))],
            bases: [Reference(address: try ObjectID(of: old), byteCount: Int64(old.count))],
            level: 10)
        expect(recipe.takesLong)
        let kept = try Damage.contents(fixture.place.origin + "/.publish/frames/\(recipe.name())")
        let frame = try ZstdEncoder().encode(new, prefix: old, recipe.settings, limit: .max)
        // Behind it is its fingerprint.
        expect(Array(kept.dropLast(16)), equals: frame)
    }
}
