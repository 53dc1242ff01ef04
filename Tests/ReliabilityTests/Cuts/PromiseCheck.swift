import StorageTestSupport

/// Holds a store that was opened after a failure against I1 to I8, knowing what was acknowledged.
///
/// Says what is wrong instead of failing a test, so that the suite can be tested, too.
struct PromiseCheck {
    var scenario: Scenario
    var before: Facts
    var after: Facts
    /// Whether the verb had returned.
    var isAcknowledged: Bool

    /// What a failure may leave for the next writer, collection or repair to clean up.
    ///
    /// A tree that no version claims only until a verb that shows one has returned: what retires hides trees
    /// durably first.
    private var leftovers: Set<Finding.Kind> {
        let retires = ["retire", "gc"].contains { scenario.testDescription.hasPrefix($0) }
        // A link that is refused once is a copy, which shows the same.
        let kinds: Set<Finding.Kind> = [
            .leftover, .unindexedObject, .wrongCurrentLink, .copiedInTree,
        ]
        // The tree of an add whose manifest's name did not last: what it shows is kept until it is added again.
        return isAcknowledged || retires ? kinds : kinds.union([.strayTree, .missingManifest])
    }

    /// What is wrong at a place, first without help and then after the verb is repeated.
    func problems(at place: Place, on disk: any FileSystem, tryingWithoutIndex: Bool) -> [String] {
        var problems: [String] = []
        func step(_ name: String, _ body: () throws -> [String]) {
            do { problems += try body().map { "\(name): \($0)" } } catch {
                problems.append("\(name): \(error)")
            }
        }
        let exists = FileManager.default.fileExists(atPath: place.store + "/FORMAT")
        if exists || scenario.hasStore || isAcknowledged {
            step("opened") { try look(place, place.open(on: disk)) }
        }
        if tryingWithoutIndex, scenario.hasStore {
            step("without its index") {
                for name in ["index.sqlite", "index.sqlite-journal", "stamp"] {
                    Damage.remove(place.store + "/" + name)
                }
                return try look(place, place.open(on: disk))
            }
        }
        step("repeated") { try finish(place, on: disk) }
        return problems
    }

    /// Every promise that needs no help.
    private func look(_ place: Place, _ store: VersionStore) throws -> [String] {
        var problems: [String] = []
        let facts = try Facts(place, store)
        problems += judge(facts)
        // I1, and all records agree.
        let kinds = Set(try store.check(CheckOptions(isDeep: true)).findings.map(\.kind))
        let known = isAcknowledged ? [] : scenario.known
        let others = kinds.subtracting(leftovers).subtracting(known)
        if !others.isEmpty { problems.append("found \(others.map(\.rawValue).sorted())") }
        problems += try contents(place, store, facts)
        for (name, version) in facts.versions where !version.isComplete {
            do {
                try store.activateAtNextBoot(name)
                problems.append("I2: the incomplete version \(name) could be activated")
            } catch {}
        }
        if try !scenario.holds(place) { problems.append("what holds at any time does not") }
        if isAcknowledged, try !scenario.isKept(place, store) {
            problems.append("I3: what was acknowledged is gone")
        }
        return problems
    }

    private func agrees(_ facts: Facts) -> Bool {
        scenario.treesAreDerived ? facts.withoutTrees == after.withoutTrees : facts == after
    }

    /// I2, I3, I5: the versions and the lifecycle are those of before or after.
    private func judge(_ facts: Facts) -> [String] {
        var problems: [String] = []
        if isAcknowledged {
            if !agrees(facts), scenario.passesOver?(before, facts) != true {
                problems.append("I3: acknowledged \(after), found \(facts)")
            }
            return problems
        }
        for name in Set(before.versions.keys).union(after.versions.keys).union(facts.versions.keys)
        {
            let expected = [before.versions[name], after.versions[name]].compactMap { $0 }
            guard let found = facts.versions[name] else {
                if expected.count == 2 { problems.append("I3: version \(name) is gone") }
                continue
            }
            // A version that is being fetched is registered first and complete later.
            if expected.isEmpty { problems.append("I2: a version \(name) out of nowhere") }
            // Also one that is to go is forgotten before its content goes.
            if before.versions[name]?.isComplete == true, after.versions[name]?.isComplete != false,
                !found.isComplete, scenario.known.isEmpty || scenario.keepsVersionsWhole
            {
                problems.append("I2: version \(name) is no longer complete")
            }
            // A repair that is cut short leaves the tree; then nobody may be sent to it.
            if found.hasTree, !found.isComplete, scenario.known.isEmpty {
                problems.append("I2: version \(name) is shown and incomplete")
            }
        }
        if facts.lifecycle != before.lifecycle, facts.lifecycle != after.lifecycle {
            problems.append("I3: the lifecycle is neither the old nor the new one")
        }
        if facts.shown != before.shown, facts.shown != after.shown {
            problems.append("I2: current leads to \(facts.shown ?? "nothing")")
        }
        return problems
    }

    /// I1, I4, I7: what is complete can be read, and what is shown is entirely of one version.
    private func contents(
        _ place: Place, _ store: VersionStore, _ facts: Facts
    ) throws -> [String] {
        var problems: [String] = []
        for (name, version) in facts.versions {
            guard version.isComplete, let files = Place.contents[name] else { continue }
            let isDamaged = scenario.known.contains(.damagedObject) && !isAcknowledged
            if isDamaged { continue }
            for entry in try store.manifest(of: name).entries {
                let bytes = try store.store.read(entry.address, limit: 1 << 20)
                if bytes != files[entry.path.description].map({ Array($0.utf8) }) {
                    problems.append("I4: \(name):\(entry.path) cannot be read")
                }
            }
            if version.hasTree, !scenario.known.contains(.missingInTree) || isAcknowledged,
                try readTree(place.store + "/versions/" + name) != files
            {
                problems.append("I2: the tree of version \(name) is not whole")
            }
        }
        // Until it is repaired what is shown has the damage, or has lost its tree because of it.
        let isShownDamaged = scenario.known.contains(.damagedObject) && !isAcknowledged
        if let shown = facts.shown, !isShownDamaged {
            let name = String(shown.dropFirst("versions/".count))
            if try readTree(place.store + "/" + shown) != Place.contents[name] {
                problems.append("I7: what is shown is not version \(name)")
            }
        }
        return problems
    }

    /// I8: the verb is repeated to its end, and nothing is left of the first attempt.
    private func finish(_ place: Place, on disk: any FileSystem) throws -> [String] {
        var problems: [String] = []
        let found = scenario.follows == nil ? nil : try Facts(place, place.open(on: disk))
        do { try scenario.run(place, disk, false) } catch let error as StoreError {
            if !scenario.isDone.contains(error.code) { throw error }
        }
        let store = try place.open(on: disk)
        let facts = try Facts(place, store)
        if let follows = scenario.follows, let found {
            if !follows(found, facts) { problems.append("I8: \(found) became \(facts)") }
        } else if !agrees(facts) {
            problems.append("I8: expected \(after), found \(facts)")
        }
        if try !scenario.isKept(place, store) { problems.append("I8: it is not done") }
        if try !scenario.holds(place) { problems.append("what holds at any time does not") }
        let needed = try Set(
            facts.versions.keys.flatMap { Place.contents[$0]?.values.map { $0 } ?? [] }
                .filter { !$0.isEmpty }.map { try address(of: $0) })
        let copies = try contentsBelow(place.store).intersection(needed)
        try store.collect()
        // A repair mends what no collection does; it may find nothing but leftovers.
        let repaired = try store.check(repairing: true).findings
        let lost = repaired.filter {
            !leftovers.contains($0.kind) && !scenario.known.contains($0.kind)
        }
        if !lost.isEmpty { problems.append("I8: found \(lost.map(\.message))") }
        let left = try store.check(CheckOptions(isDeep: true)).findings
        if !left.isEmpty { problems.append("I8: left \(left.map(\.message))") }
        try store.collect()
        let gone = try copies.subtracting(contentsBelow(place.store))
        if !gone.isEmpty { problems.append("I12: the last copies of \(gone) are gone") }
        return problems
    }
}
