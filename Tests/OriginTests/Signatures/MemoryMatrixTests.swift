import OriginTestSupport

/// What two mishaps in a row leave in the memories of a publisher and of a device.
///
/// Sequences, times, what was about to be written: whoever is honest continues with the next ordinary command.
@Suite("After two mishaps, an honest publisher and a device") struct MemoryMatrixTests {
    enum Mishap: CaseIterable {
        case killed, publisherAhead, deviceAhead, bothAhead, rotated, restored, memoryLost
        case restoredUnrotated
    }

    private static let tenYears: Int64 = 10 * 366 * 86_400

    /// An origin in a directory, its publisher, and a device that pulls from it.
    private final class World {
        let people: SignedPlace
        let device: TemporaryStore
        let isSigned: Bool
        private var key: String
        /// How far the clock of the device is ahead.
        private var lead: Int64 = 0
        private var next = "2"

        init(isSigned: Bool) throws {
            people = try SignedPlace()
            device = try TemporaryStore()
            (self.isSigned, key) = (isSigned, people.alice)
            // What a device knows of the time are its clock, its events and its versions.
            people.place.clock.advance(secondsNow() - people.place.clock.now)
            for name in ["3", "4", "5"] {
                try people.place.store.add(name, ["index.html": "<h1>\(name)</h1>"])
            }
            try people.publish("1", signing())
            guard isSigned else { return }
            let (place, first) = (
                try OriginReference(parsing: origin).location.trustPlace, try people.key(key)
            )
            try device.versions.changeTrust { (trust) throws(StoreError) in
                try trust.put(TrustedOrigin(places: [place], id: nil, keys: [first], threshold: 1))
            }
        }

        var origin: String { people.place.origin }

        /// - Parameter disk: that of the key, beside which is what it has signed.
        func signing(_ disk: any FileSystem = POSIXFileSystem()) throws -> PointerSigning {
            isSigned ? try people.signing(key, on: disk) : PointerSigning()
        }

        @discardableResult
        func publish(
            _ signing: PointerSigning? = nil, on disk: any FileSystem = POSIXFileSystem()
        ) throws -> String {
            people.place.clock.advance(1)
            let version = next
            let signing = try signing ?? self.signing()
            _ = try people.publisher(signing, on: disk).publish(version, of: people.place.versions)
            next = "\((Int(version) ?? 0) % 5 + 1)"
            return version
        }

        func pull() throws {
            let now = people.place.clock.now + lead
            var options = PullOptions.hasty
            (options.destination, options.now) = (.current, { now })
            options.eventLog = EventLog(device.versions)
            _ = try Pull(into: try device.reopened(), over: DirectoryTransport(origin), options)
                .run(origin)
        }

        /// - Parameter call: where a killed publisher ends.
        /// - Returns: whether there was such a call.
        func suffer(_ mishap: Mishap, _ call: Int) throws -> Bool {
            let clock = people.place.clock
            switch mishap {
            case .killed:
                let disk = FaultyFileSystem()
                let signing = try signing(disk)
                disk.arm(.stop(after: call))
                _ = refusal { try publish(signing, on: disk) }
                return disk.hasFired
            case .publisherAhead, .bothAhead:
                clock.advance(tenYears)
                try publish()
                if mishap == .publisherAhead { lead = -tenYears }
                try pull()
                clock.advance(-tenYears)
                lead = 0
            case .deviceAhead:
                lead = tenYears
                try pull()
                lead = 0
            case .rotated:
                guard isSigned else { return true }
                let other = key == people.alice ? people.bob : people.alice
                let both = try people.signing(key, other) { $0.trusted = [try people.key(key)] }
                clock.advance(1)
                try people.publisher(both).rotate(people.rotation(key, to: other))
                key = other
            case .restored, .restoredUnrotated:
                let backup = people.place.store.directory.appending("backup")
                try FileManager.default.copyItem(atPath: origin, toPath: backup)
                if mishap == .restoredUnrotated { _ = try suffer(.rotated, call) }
                let before = Damage.names(origin + "/log")
                try publish()
                try pull()
                // What a killed publisher had written already is not written again.
                guard Damage.names(origin + "/log") != before else {
                    try FileManager.default.removeItem(atPath: backup)
                    break
                }
                try FileManager.default.removeItem(atPath: origin)
                try FileManager.default.moveItem(atPath: backup, toPath: origin)
                try adoptIfAsked()
            case .memoryLost:
                guard isSigned else { return true }
                let memory = try people.memoryFile(key)
                if FileManager.default.fileExists(atPath: memory) {
                    try FileManager.default.removeItem(atPath: memory)
                }
            }
            return true
        }

        /// A publisher who signs hears that his origin is an older one, and says that he means it.
        private func adoptIfAsked() throws {
            guard isSigned else { return }
            expectRefusal(.untrusted, saying: "--adopt") { try publish() }
            try people.publisher(people.signing(key) { $0.adopts = true }).resign()
        }
    }

    @Test(arguments: Mishap.allCases, Mishap.allCases)
    func `continue`(_ first: Mishap, _ second: Mishap) throws {
        for isSigned in [true, false] {
            guard first == .killed || second == .killed else {
                try expectGoingOn(after: [first, second], isSigned, 0)
                continue
            }
            let count = try TestShare(oneIn: 32).count { call in
                try expectGoingOn(after: [first, second], isSigned, call)
            }
            expect(count > 40)
        }
    }

    /// - Parameter call: where a publisher is killed.
    /// - Returns: whether there was such a call.
    @discardableResult
    private func expectGoingOn(
        after mishaps: [Mishap], _ isSigned: Bool, _ call: Int
    ) throws -> Bool {
        let world = try World(isSigned: isSigned)
        try world.pull()
        let reached = try mishaps.filter { try world.suffer($0, call) && $0 == .killed }
        let version = try world.publish()
        try world.pull()
        try expect(
            world.device.reopened().lifecycle().current?.description, equals: version,
            "call \(call), signed: \(isSigned)")
        return !reached.isEmpty
    }
}
