import StorageTestSupport

@testable import Platform
@testable import VersionTree

/// Whether a start ended with the system, where the boot id may be hidden (systemd's `ProcSubset=pid`).
@Suite struct HiddenBootTests {
    /// What a process can see of the boot.
    private struct Ground: FileSystemWrapper, Hashable, CustomTestStringConvertible {
        /// The number that /proc tells, if it can be read.
        var id: Int?
        /// The number of the tmpfs at /run; `nil` if another file system is there.
        var run: UInt64?
        let directory: String

        static func == (left: Ground, right: Ground) -> Bool {
            (left.id, left.run) == (right.id, right.run)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(id)
            hasher.combine(run)
        }

        var base: any FileSystem { POSIXFileSystem() }
        var testDescription: String { "boot id \(id ?? 0), /run \(run ?? 0)" }
        var name: String? { id.map { "boot \($0)" } ?? run.map { "run-\($0)" } }

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            guard String(cString: path) == "/proc/sys/kernel/random/boot_id" else {
                return try base.open(directory, path, access, mode: mode)
            }
            let place = self.directory + "/" + (id.map { "\($0)" } ?? "none")
            return try base.open(directory, place, access, mode: mode)
        }

        func mount(of file: Int32) -> MountStatus? {
            MountStatus(
                kind: run == nil ? "ext4" : "tmpfs", isWritable: true, fileSystem: run ?? 1,
                number: 1)
        }
    }

    private let temporary: TemporaryStore
    private let directory: String

    init() throws {
        temporary = try TemporaryStore.startedOnce()
        directory = temporary.directory.path
        for id in 1...2 { try writeFile(directory + "/\(id)", "boot \(id)\n") }
    }

    private var grounds: [Ground] {
        [(1, 1), (2, 2), (nil, 1), (nil, 2), (nil, nil)].map {
            Ground(id: $0, run: $1, directory: directory)
        }
    }

    private func versions(_ ground: Ground, hearing: Shared<[String]>) throws -> VersionStore {
        let options = StoreOptions(
            isDurable: false, reservedByteCount: 1 << 20,
            notice: { line in hearing.with { $0.append(line) } })
        return try VersionStore.open(temporary.path, options: options, fileSystem: ground)
    }

    @Test func `counts a start as failed only if it surely ended within the same boot`() throws {
        let warnings = Shared<[String]>([])
        for then in grounds {
            for now in grounds {
                try temporary.versions.activate("B")
                _ = try versions(then, hearing: warnings).boot()
                try expect(temporary.versions.lifecycle().boot?.system, equals: then.name)
                let next = try versions(now, hearing: warnings).boot()
                let isSame = then.name != nil && then.name == now.name
                expect(next.rolledBackFrom, equals: isSame ? "B" : nil)
                expect(next.version, equals: isSame ? "A" : "B")
                let attempt = try require(try temporary.versions.lifecycle().attempts.first)
                expect(attempt.failedAttempts == 1 && attempt.takenBack == (isSame ? 0 : 1))
                try temporary.versions.unban("B")
                try temporary.versions.activate("A")
            }
        }
    }

    @Test func `says so where nothing tells, and bans what never works all the same`() throws {
        let warnings = Shared<[String]>([])
        let unknown = Ground(directory: directory)
        try temporary.versions.activateAtNextBoot("B")
        var shown: [String] = []
        while try temporary.versions.lifecycle().bad.isEmpty, shown.count < 20 {
            try shown.append(versions(unknown, hearing: warnings).boot().version)
        }
        expect(shown, equals: ["B", "B", "B", "A", "B", "B", "B", "A"])
        expect(warnings.with { $0.count { $0.contains("was restarted") } }, equals: 6)
        warnings.with { $0 = [] }
        for ground in grounds.dropLast() {
            try temporary.versions.unban("B")
            try temporary.versions.activate("B")
            _ = try versions(ground, hearing: warnings).boot()
        }
        expect(warnings.with { $0 }, equals: [])
    }

    @Test func `does not count a watched start either that was cut off before its page is missing`()
        throws
    {
        for (then, now) in [(nil, nil), ("a", nil), (nil, "a"), ("a", "a")] as [(String?, String?)]
        {
            try temporary.versions.changeLifecycle { $0.attempts = [] }
            try temporary.versions.activate("B")
            let token = try temporary.versions.boot().token
            try temporary.versions.changeLifecycle { (lifecycle) throws(StoreError) in
                lifecycle.boot?.isWatched = true
                lifecycle.boot?.system = then
                var request = StartRequest(failedAttempts: 2)
                request.system = now
                _ = try lifecycle.leave(
                    .unshown("B", token: nil, reason: "no page"), request, temporary.versions)
                lifecycle.unheard.removeAll { $0.token == token }
            }
            let isFailure = then != nil && now != nil
            try expect(
                temporary.versions.lifecycle().attempts.map(\.failedAttempts),
                equals: isFailure ? [1] : [])
        }
    }
}
