import OriginTestSupport

@Suite("Publishers at once") struct PublishingTogetherTests {
    /// Runs closures on threads of their own and waits for all; returns what they threw.
    private func together(_ bodies: [@Sendable () throws -> Void]) -> [any Error] {
        let failures = Mutex<[any Error]>([])
        DispatchQueue.concurrentPerform(iterations: bodies.count) { index in
            do { try bodies[index]() } catch { failures.withLock { $0.append(error) } }
        }
        return failures.withLock { $0 }
    }

    @Test func `give no number twice, and each release is whole`() throws {
        let place = try PublishingPlace()
        let names = (20..<32).map(String.init)
        for name in names {
            try place.store.add(name, ["shared": "same", "own": "content \(name)"])
        }
        let numbers = Mutex<[Int64]>([])
        let failures = together(
            names.map { name in
                {
                    let versions = try place.store.reopened()
                    let plan = try place.publisher().publish(name, of: versions)
                    numbers.withLock { $0.append(plan.pointer.sequence) }
                }
            })
        expect(failures.isEmpty, "\(failures)")
        let given = numbers.withLock { $0 }
        expect(Set(given).count, equals: names.count)
        let reader = try DirectoryOrigin(place.origin)
        let pointer = try require(try reader.pointer(.stable))
        expect(pointer.sequence, equals: given.max())
        expect(
            Set(pointer.releases.compactMap { $0.version?.name.description }), equals: Set(names))
        for release in pointer.releases {
            let version = try require(release.version)
            try expect(place.files(of: version)["own"], equals: "content \(version.name)")
        }
    }

    @Test func `are both the first, in whatever moment of the one the other comes`() throws {
        let moments = try TestShare(oneIn: 3).count { moment in
            let place = try PublishingPlace()
            let others = try place.store.reopened()
            let disk = FaultyFileSystem()
            let count = Mutex(0)
            let refusal = Mutex<StoreError.Code?>(nil)
            let at = moment + 1
            disk.onEach { timing, _ in
                guard timing == .before else { return }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard number == at else { return }
                let found = code {
                    try place.publisher { $0.waitLimit = .zero }.publish("1", of: others)
                }
                refusal.withLock { $0 = found }
            }
            try place.publisher(on: disk).publish("2", of: place.versions)
            if count.withLock(\.self) < at { return false }
            let found = refusal.withLock(\.self)
            expect(
                found == nil || found == .busy,
                "before operation \(at): \(String(describing: found))")
            let pointer = try DirectoryOrigin(place.origin).pointer(.stable)
            expect(
                pointer?.releases.count, equals: (found == nil ? 2 : 1), "before operation \(at)")
            // Whoever has committed last.
            try expect(["1", "2"].contains(place.read()?.version))
            return true
        }
        expect(moments > 50)
    }

    @Test("never let a reader see less than a whole release, whatever it is in the middle of")
    func readers() throws {
        let place = try PublishingPlace(offering: "1")
        let disk = FaultyFileSystem()
        let odd = Notices()
        let looks = Mutex(0)
        disk.onEach { _, operation in
            do {
                let read = try place.read()
                let whole =
                    read?.version == "1" ? PublishingPlace.first : PublishingPlace.second
                if read?.files != whole { odd.add("\(operation)") }
            } catch {
                odd.add("\(operation): \(error)")
            }
            looks.withLock { $0 += 1 }
        }
        try place.publisher(on: disk).publish("2", of: place.versions)
        try place.publisher(on: disk).collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        expect(odd.all, equals: [])
        expect(looks.withLock { $0 } > 50)
    }

    @Test func `do not let the store's collector take what is being copied`() throws {
        let place = try PublishingPlace()
        let disk = FaultyFileSystem()
        let refusal = Mutex<StoreError.Code?>(nil)
        disk.on(.before, .write, path: "/put-") {
            let found = code { try place.store.reopened().retire("2") }
            refusal.withLock { $0 = found }
        }
        try place.publisher(on: disk).publish("2", of: place.versions)
        expect(refusal.withLock { $0 }, equals: .versionInUse)
        try expect(place.read()?.files, equals: PublishingPlace.second)
    }
}
