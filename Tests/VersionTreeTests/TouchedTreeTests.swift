import StorageTestSupport

/// A tree shares its files with the objects: whoever writes into one changes every version, and an object that is written
/// anew leaves the trees with the old file.
@Suite("A tree that somebody wrote into") struct TouchedTreeTests {
    typealias Touch = TouchedObjectTests.Touch
    /// Those that write into the file itself.
    static let touches = TouchedObjectTests.touches.prefix(4)

    private static let right = "first content"
    /// Versions 1 and 2 share what is touched; 2 is current.
    private func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", RepairTests.files)
        try temporary.add("2", ["js/a": Self.right, "c": "third content"])
        try temporary.add("3", ["c": "third content"])
        for name in ["1", "2"] {
            try temporary.versions.makeKnownGood(name)
        }
        return temporary
    }

    private func shown(_ temporary: TemporaryStore) throws -> [String] {
        try ["1/a", "2/js/a"].map {
            try String(decoding: Damage.contents("\(temporary.path)/versions/\($0)"), as: UTF8.self)
        }
    }

    /// What writes the object anew: the same version or another one.
    private static let healers = [
        ("1", RepairTests.files), ("4", ["new": "new", "deep/er/a": right]),
    ]

    @Test(arguments: touches)
    func `shows what is right again after whatever writes the object anew`(_ touch: Touch) throws {
        for (version, files) in Self.healers {
            let temporary = try makeStore()
            try touch.happen(temporary.path + "/versions/2/js/a")
            try temporary.add(version, files)
            try expect(shown(temporary), equals: [Self.right, Self.right], "\(version)")
            try expect(temporary.reopened().check().findings, equals: [], "\(version)")
        }
    }

    /// What switches to a version, or starts it, and which.
    private static let switches: [(name: String, version: String)] = [
        ("activate", "1"), ("activate again", "2"), ("at the next boot", "1"), ("boot", "2"),
        ("rollback", "1"),
    ]

    private func go(_ how: String, _ versions: VersionStore) throws {
        switch how {
        case "activate": try versions.activate("1")
        case "activate again": try versions.activate("2")
        case "at the next boot":
            try versions.activateAtNextBoot("1")
            _ = try versions.boot()
        case "boot": _ = try versions.boot()
        default: _ = try versions.rollback()
        }
    }

    @Test(
        "and whose object was written anew by a process that was killed then, shows what is right to whoever is sent there",
        arguments: touches)
    func switching(_ touch: Touch) throws {
        for (how, version) in Self.switches {
            let temporary = try makeStore()
            try touch.happen(temporary.path + "/versions/2/js/a")
            let object = try temporary.objectPath(of: Self.right)
            Damage.remove(object)
            try writeFile(object, Self.right, mode: 0o444)
            try expect(
                temporary.reopened().evidentFindings().map(\.kind), equals: [.wrongInTree],
                "status, \(how)")
            let versions = try temporary.reopened()
            try go(how, versions)
            try expect(versions.lifecycle().current, equals: version)
            try expect(shown(temporary)[version == "1" ? 0 : 1], equals: Self.right, "\(how)")
            try expect(temporary.reopened().evidentFindings(), equals: [], "\(how)")
        }
    }

    @Test(
        "together with its object, is refused to whoever may do without, and told",
        arguments: touches)
    func refusing(_ touch: Touch) throws {
        for (how, version) in Self.switches {
            let temporary = try makeStore()
            try touch.happen(temporary.path + "/versions/2/js/a")
            let versions = try temporary.reopened()
            if ["boot", "rollback"].contains(how) {
                // Something must be shown.
                try go(how, versions)
                try expect(versions.lifecycle().current, equals: version)
            } else {
                expectRefusal(.damagedObject, "\(how)") { try go(how, versions) }
                try expect(versions.lifecycle().current, equals: "2")
                expect(try versions.lifecycle().pending == nil)
            }
            try expect(
                temporary.reopened().evidentFindings().map(\.kind), equals: [.wrongInTree],
                "\(how)")
        }
    }
}
