import BucketTestSupport
import Origin

/// `fsck --probe s3://…`: whether a store keeps what docs/buckets.md asks of it.
@Suite("A check of whether a store is suitable") struct BucketSuitabilityTests {
    @Test func `holds races, and finds no fault with a store in which one creator wins`() throws {
        let report = try OriginAudit(ModelStorage(ModelStore()), probing).run()
        expect(report.findings == [] && report.raceCount == 10 && report.entry == 0)
        expect(report.requestCount >= 80)
    }

    private var probing: OriginAuditOptions {
        var options = OriginAuditOptions()
        options.isProbing = true
        return options
    }

    @Test
    func `refuses a store that does not know If-None-Match: *, as OpenStack Swift's`() throws {
        var dialect = ModelDialect()
        dialect.knowsIfNoneMatch = false
        let report = try OriginAudit(ModelStorage(ModelStore(dialect)), probing).run()
        expect(report.findings.map(\.kind) == [.unsuitableStore] && report.raceCount == 1)
    }

    @Test func `refuses a store in which several creators win`() throws {
        var bucket = LyingStorage(ModelStorage(ModelStore()))
        bucket.overwrites = true
        let report = try OriginAudit(bucket, probing).run()
        expect(report.findings.map(\.kind), equals: [.unsuitableStore])
        expect(report.findings.first?.message.contains("8 of 8 creators"), equals: true)
    }

    @Test func `bears a winner whose answer was lost`() throws {
        var bucket = LyingStorage(ModelStorage(ModelStore()))
        bucket.refusesCreations = true
        try expect(OriginAudit(bucket, probing).run().findings, equals: [])
    }

    @Test("that only tries the store says that no origin is there, and leaves nothing behind")
    func probedNothing() throws {
        let store = ModelStore()
        let report = try OriginAudit(ModelStorage(store), probing).run()
        expect(report.missing?.contains("there is no origin in s3://model/origin"), equals: true)
        expect(report.missing?.contains("is deleted"), equals: true)
        expect(store.files.isEmpty)
        // Without the right to delete it says what stays.
        let poor = ModelStorage(store, rights: [.get, .put, .list])
        let left = try OriginAudit(poor, probing).run()
        expect(left.missing?.contains("10 files of that may be left in probe/"), equals: true)
        expect(store.files.count, equals: 10)
        // Where an origin is, that goes with the next prune.
        let audited = try AuditedWorld()
        let probed = try audited.audit { $0.isProbing = true }
        expect(probed.missing == nil && probed.raceCount == 10)
    }

    @Test func `finds that a log is gone, whether or not the store is tried`() throws {
        for isProbing in [false, true] {
            let audited = try AuditedWorld()
            for key in audited.files.keys where key.hasPrefix("log/") {
                audited.store.set(key, nil)
            }
            let report = try audited.audit { $0.isProbing = isProbing }
            expect(report.findings.map(\.kind) == [.missingEntry] && report.missing == nil)
            expect(report.findings.first?.message.contains("is gone"), equals: true)
        }
    }
}
