import Expectations

@testable import Platform

#if canImport(Glibc)
    import Glibc

    @Suite struct GivingWayThreadTests {
        @Test func `a thread that gives way never comes before what it was`() {
            let which = __priority_which_t(PRIO_PROCESS.rawValue)
            // Who is no root is never less nice again.
            for nice: Int32 in [0, 5, 15, 19] where nice >= getpriority(which, 0) {
                let found = Mutex<Int32>(-1)
                Parallel.begin {
                    // Of this thread alone (setpriority(2), "C library/kernel differences").
                    setpriority(which, 0, nice)
                    Parallel.giveWay()
                    found.withLock { $0 = getpriority(which, 0) }
                }.wait()
                let here = found.withLock { $0 }
                expect(here, equals: min(nice + 10, 19))
            }
        }
    }
#endif
