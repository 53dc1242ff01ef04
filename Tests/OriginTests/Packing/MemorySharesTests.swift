import OriginTestSupport
import Synchronization

@testable import Origin

@Suite("The memory that workers share") struct MemorySharesTests {
    @Test func `goes to those who waited before one that was interrupted`() {
        let shares = MemoryShares(2)
        let (waits, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isServed = Atomic<Bool>(false)
        let lookCount = Atomic<Int>(0)
        // Nothing interrupts it.
        try? shares.with(2, unless: { false }) { () throws(StoreError) in
            Parallel.detach {
                // A worker that is passed over gives up, so that this test ends.
                try? shares.with(1) {
                    waits.signal()
                    return lookCount.add(1, ordering: .relaxed).newValue > 500
                } _: { () throws(StoreError) in
                    isServed.store(true, ordering: .releasing)
                }
                ends.signal()
            }
            waits.wait()
            expectRefusal(.interrupted) { try shares.with(1, unless: { true }) {} }
        }
        ends.wait()
        expect(isServed.load(ordering: .acquiring))
    }
}
