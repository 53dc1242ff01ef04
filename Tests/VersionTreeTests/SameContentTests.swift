import StorageTestSupport

@testable import VersionTree

// docs/serving.md, "What counts as a start, and the failed attempts": what is known of content holds for all of its
// names.

@Suite("Content that has two names")
struct SameContentTests {
    private let temporary: TemporaryStore
    private var versions: VersionStore { temporary.versions }

    init() throws { temporary = try Self.make() }

    /// A, its other name A2, B, and its other name B2; A is current and known good.
    private static func make(isKnownGood: Bool = true) throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for name in ["A", "A2", "B", "B2"] {
            try temporary.add(name, ["index.html": String(name.prefix(1))])
        }
        try temporary.versions.activate("A")
        if isKnownGood { try temporary.makeGood("A") }
        return temporary
    }

    /// How a version comes to be started.
    enum Way: CaseIterable {
        case activated, pending, besideAnAttempt, afterAFailedAttempt, embedded

        /// Whether B was tried before, at one failed attempt.
        var hasAttempt: Bool { self == .besideAnAttempt || self == .afterAFailedAttempt }
    }

    private func bring(_ name: String, _ way: Way, _ versions: VersionStore) throws {
        switch way {
        case .activated: try versions.activate(name)
        case .pending: try versions.activateAtNextBoot(name)
        case .besideAnAttempt:
            try versions.activateAtNextBoot("B")
            _ = try versions.boot()
            try versions.activateAtNextBoot(name)
        case .afterAFailedAttempt:
            try versions.activate("B")
            for _ in 1...2 { _ = try versions.boot(failedAttempts: 1) }
            try versions.activate(name)
        case .embedded:
            try versions.markEmbedded(name) { _ in
                var change = EmbeddedChange()
                change.becomesCurrent = true
                return change
            }
        }
    }

    @Test func `has no failed attempts left once a start under either name is confirmed`() throws {
        let temporary = try Self.make(isKnownGood: false)
        let versions = temporary.versions
        try versions.activate("B")
        try versions.activateAtNextBoot("B2")
        for _ in 1...2 { _ = try versions.boot() }
        try versions.activateAtNextBoot("A")
        _ = try versions.boot()
        try versions.activate("B")
        let boot = try versions.boot()
        try versions.confirm(boot.version, token: boot.token)
        let content = try versions.content(of: boot.version)
        try expect(versions.lifecycle().attempts.allSatisfy { $0.content != content })
    }

    @Test(arguments: Way.allCases)
    func `is not being tried under the second while it is known good`(_ way: Way) throws {
        try bring("A2", way, versions)
        for _ in 1...6 {
            try expect(temporary.reopened().boot(failedAttempts: 1).version, equals: "A2")
            try expect(versions.lifecycle().unconfirmed == nil)
        }
        let lifecycle = try versions.lifecycle()
        expect(lifecycle.knownGood, equals: ["A2", "A"])
        expect(lifecycle.bad.map(\.version), equals: (way.hasAttempt ? ["B"] : []))
        expect(lifecycle.attempts.isEmpty)
        try expect(temporary.shown(), equals: ["index.html": "A"])
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `stays known good under the second when the first is retired`(isKnown: Bool) throws {
        if isKnown {
            try versions.activate("A2")
            try temporary.makeGood("A2")
        }
        try versions.activate("B")
        try temporary.makeGood("B")
        try versions.retire("A")
        try expect(versions.lifecycle().knownGood, equals: ["B", "A2"])
        try versions.activate("A2")
        for _ in 1...6 { try expect(versions.boot(failedAttempts: 1).version, equals: "A2") }
        try expect(versions.lifecycle().unconfirmed == nil)
        // With its last name it goes.
        try versions.activate("B")
        try versions.retire("A2")
        try temporary.add("A", ["index.html": "A"])
        try versions.activateAndBoot("A")
        try expect(versions.lifecycle().unconfirmed?.version, equals: "A")
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `is left for other content only, by request, too`(isBooted: Bool) throws {
        try versions.activate("A2")
        if isBooted { _ = try versions.boot() }
        expectRefusal(.nothingToRollBackTo) { try versions.rollback() }
        try expect(versions.lifecycle().bad.isEmpty && versions.lifecycle().current == "A2")
        // With other content that is known good there is a way back, and both names are banned.
        try versions.activate("B")
        try temporary.makeGood("B")
        try versions.activate("A2")
        try expect(versions.rollback().current, equals: "B")
        try expect(versions.lifecycle().knownGood, equals: ["B"])
        for name in ["A", "A2"] { expectRefusal(.bannedVersion) { try versions.activate(name) } }
        for _ in 1...3 { try expect(versions.boot().version, equals: "B") }
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `is no way back from itself on the first day`(isEmbedded: Bool) throws {
        let temporary = try Self.make(isKnownGood: false)
        let versions = temporary.versions
        if isEmbedded { try versions.embed("A", knownGood: []) }
        try versions.activate("A2")
        for _ in 1...6 { try expect(versions.boot().version, equals: "A2") }
        try expect(versions.lifecycle().bad.isEmpty)
        try versions.confirm("A2", token: versions.boot().token)
        // The first name is as good as the second.
        try versions.activateAndBoot("A")
        try expect(versions.lifecycle().unconfirmed == nil)
    }

    @Test(arguments: [1, 2])
    func `is left under the one as under the other where it is being tried`(failedAttempts: Int)
        throws
    {
        for name in ["B", "B2", "B"].prefix(failedAttempts) {
            try versions.activateAtNextBoot(name)
            try expect(versions.boot(failedAttempts: failedAttempts).version, equals: name)
            try expect(versions.boot(failedAttempts: failedAttempts).version, equals: "A")
        }
        try expect(versions.lifecycle().bad.count, equals: 1)
        for name in ["B", "B2"] { expectRefusal(.bannedVersion) { try versions.activate(name) } }
    }

    @Test func `stays one way back however many names of other content come and go`() throws {
        try versions.activate("B")
        try temporary.makeGood("B")
        for number in 0..<20 {
            try temporary.add("A-\(number)", ["index.html": "A"])
            try versions.activate("A-\(number)")
            try expect(versions.boot().version, equals: "A-\(number)")
        }
        try expect(versions.lifecycle().knownGood.contains("B"))
        try expect(versions.rollback().current, equals: "B")
    }

    // As castree 0.1.0 may have left a store: the way back was the same content, and was banned with it.
    @Test
    func `starts though it is banned where there is nothing else, until it is confirmed`() throws {
        try versions.activate("A2")
        let content = try require(try versions.content(of: "A"))
        try versions.changeLifecycle {
            $0.ban("A2", content: content, reason: "it was started and never confirmed", at: 1)
            $0.current = "A"
        }
        for _ in 1...3 { try expect(versions.boot().version, equals: "A") }
        try versions.confirm("A", token: versions.boot().token)
        try expect(versions.lifecycle().bad.isEmpty)
        try versions.activate("A2")
        try temporary.expectClean()
    }
}

extension TemporaryStore {
    /// Starts what is current, and confirms it.
    fileprivate func makeGood(_ version: String) throws {
        try versions.confirm(version, token: versions.boot().token)
    }
}
