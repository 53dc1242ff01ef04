import StorageTestSupport

/// Leases are not synced: a power cut may take one and leave what was done in its name.
@Suite("What was done in the name of a lease") struct LostLeaseTests {
    private static let lease = "4711-0123456789abcdef"

    private func leave(_ path: String, in temporary: TemporaryStore) throws {
        let target = URL(filePath: temporary.path + "/" + path)
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data("left".utf8).write(to: target)
    }

    private func left(_ temporary: TemporaryStore) -> [String] {
        ["staging", "manifests", "versions"].flatMap { Damage.names(temporary.path + "/" + $0) }
    }

    @Test func `goes with the next writer, the unfinished manifest too`() throws {
        let temporary = try TemporaryStore()
        try leave("leases/\(Self.lease)", in: temporary)
        try leave("manifests/.1.json.\(Self.lease)", in: temporary)
        _ = try temporary.store.makeLease()
        expect(left(temporary), equals: [])
    }

    @Test(
        "is found without the lease, and goes with a collection or a repair",
        arguments: [
            "manifests/.1.json.\(lease)", "versions/.1.\(lease)/file", "staging/\(lease)/file",
        ], [true, false])
    func lostLease(path: String, repairs: Bool) throws {
        let temporary = try TemporaryStore()
        try leave(path, in: temporary)
        try expect(temporary.versions.check().findings.map(\.kind), equals: [.leftover])
        if repairs {
            try expect(temporary.versions.check(repairing: true).findings.allSatisfy(\.isRepaired))
        } else {
            _ = try temporary.store.collect()
        }
        expect(left(temporary), equals: [])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `stays while its writer runs`() throws {
        let temporary = try TemporaryStore()
        let other = try temporary.reopened().store
        let running = try other.makeLease()
        let name = running.name
        try leave("manifests/.1.json.\(name)", in: temporary)
        try leave("versions/.1.\(name)/file", in: temporary)
        _ = try temporary.store.collect()
        expect(left(temporary).contains(".1.json.\(name)"))
        expect(left(temporary).contains(".1.\(name)/file"))
        try expect(temporary.versions.check().findings, equals: [])
        withExtendedLifetime(running) {}
    }

    @Test func `stays where it is nobody's lease: files of others are not deleted`() throws {
        let temporary = try TemporaryStore()
        try leave("manifests/.notes.backup", in: temporary)
        _ = try temporary.store.collect()
        expect(left(temporary), equals: [".notes.backup"])
    }
}
