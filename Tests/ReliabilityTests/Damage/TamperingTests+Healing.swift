import StorageTestSupport

// The ways back from a manifest that was damaged or edited, as docs/maintenance.md has them.

extension TamperingTests {
    /// What somebody does who has read the handbook.
    struct Advice: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var kind: Finding.Kind
        /// What it is refused with where the handbook says that something else is to be done.
        var refusal: StoreError.Code?
        /// Version, store, and the registered manifest's bytes.
        var follow: @Sendable (String, Victim, [UInt8]) throws -> Void
    }

    static let advices: [Advice] = [Finding.Kind.damagedManifest, .editedManifest].flatMap { kind in
        [
            Advice(testDescription: "puts it back from a copy", kind: kind) { name, victim, copy in
                let path = victim.path("manifests/\(name).json")
                Damage.remove(path)
                try Damage.overwriteOrCreate(path, with: copy)
            },
            // What is registered is not known to be the same content while the manifest says something else.
            Advice(
                testDescription: "adds the same content again", kind: kind,
                refusal: kind == .editedManifest ? .versionExists : nil
            ) { name, victim, _ in try victim.place.add(name, to: victim.place.open()) },
            Advice(testDescription: "retires the version and adds it again", kind: kind) {
                name, victim, _ in
                let versions = try victim.place.open()
                let isCurrent = try versions.lifecycle().current == name
                // What is current is not retired: another one is shown meanwhile.
                if isCurrent { try versions.activate("0") }
                try versions.retire(name)
                try victim.place.add(name, to: versions)
                if isCurrent { try versions.activate(name) }
            },
            Advice(testDescription: "deletes the file and adds the version again", kind: kind) {
                name, victim, _ in try deleteAndAdd(name, victim)
            },
        ]
    }

    /// What was done, and what is advised for it.
    static let ways: [(Tampering, Advice)] = (ofManifest("1") + ofManifest("2")).flatMap {
        tampering in
        advices.filter { $0.kind == tampering.kind }.map { (tampering, $0) }
    }

    private static func deleteAndAdd(_ name: String, _ victim: Victim) throws {
        Damage.remove(victim.path("manifests/\(name).json"))
        try victim.place.add(name, to: victim.place.open())
    }

    @Test(
        "is whole again with an old manifest, if somebody",
        arguments: TestShare(oneIn: 9, of: "healed damages").of(ways))
    func healed(_ tampering: Tampering, _ advice: Advice) throws {
        // Before a repair, and after one.
        for isRepaired in [false, true] {
            let victim = try Victim()
            let name = tampering.testDescription.hasSuffix("1") ? "1" : "2"
            let copy = try Damage.contents(victim.path("manifests/\(name).json"))
            try tampering.act(victim)
            if isRepaired { _ = try victim.place.open().check(repairing: true) }
            // A directory is moved away by nobody but a repair.
            let isDirectory =
                tampering.testDescription.contains("directory") && !isRepaired
            let changes = ["adds the same content again", "retires the version and adds it again"]
            let refusal =
                isDirectory && changes.contains(advice.testDescription) ? .io : advice.refusal
            if let refusal {
                #expect { try advice.follow(name, victim, copy) } throws: {
                    ($0 as? StoreError)?.code == refusal
                }
                try Self.deleteAndAdd(name, victim)
                try victim.place.open().activate("1")
            } else {
                try advice.follow(name, victim, copy)
            }
            // What was collected meanwhile, and what is to come.
            _ = try victim.place.open().collect()
            let found = try victim.place.open().check(CheckOptions(isDeep: true)).findings
            expect(found, equals: [], "\(found.map(\.message))")
            try expect(victim.place.open().lifecycle().current, equals: "1")
            for version in ["0", "1", "2"] {
                try expect(files(of: version, victim), equals: Place.contents[version])
            }
        }
    }

    @Test(
        "shows what an edited manifest says once somebody has deleted the index",
        arguments: (ofManifest("1") + ofManifest("2")).filter { $0.kind == .editedManifest })
    func believed(_ tampering: Tampering) throws {
        let victim = try Victim()
        let name = tampering.testDescription.hasSuffix("1") ? "1" : "2"
        try tampering.act(victim)
        Damage.remove(victim.path("index.sqlite"))
        // The tree is still that of the manifest that was registered.
        _ = try victim.place.open().check(repairing: true)
        let found = try victim.place.open().check(CheckOptions(isDeep: true)).findings
        expect(found, equals: [], "\(found.map(\.message))")
        let says = try victim.place.open().manifest(of: name).entries
        let contents = Dictionary(
            Place.contents.values.flatMap(\.values).map {
                ((try? address(of: $0))?.description ?? "", $0)
            }, uniquingKeysWith: { first, _ in first })
        var expected: [String: String] = [:]
        for entry in says { expected[entry.path.description] = contents[entry.address.description] }
        try expect(files(of: name, victim), equals: expected)
        expect(expected != Place.contents[name])
    }

    /// What a copy of a version contains.
    private func files(of version: String, _ victim: Victim) throws -> [String: String] {
        let target = victim.place.beside + "/out-\(version)"
        _ = try victim.place.open().checkout(version, to: target, mode: .copy)
        return try Self.files(target)
    }

    private static func files(_ directory: String) throws -> [String: String] {
        try Damage.files(below: directory).mapValues { String(decoding: $0, as: UTF8.self) }
    }
}
