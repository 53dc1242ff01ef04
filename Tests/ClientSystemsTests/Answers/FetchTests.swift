import StorageTestSupport

@testable import ClientSystems
@testable import HotPush

/// What clients fetch says so before a release's files are looked up, so that no check waits for it; checks never do.
@Suite struct FetchTests {
    /// An origin in which nothing may be put together, and what feeds asked it.
    private final class WatchedOrigin: ModelledOrigin {
        let model: ModelOrigin
        let mayCompose: Bool
        var isFetch = false
        var lookedUp = 0

        init(_ model: ModelOrigin, mayCompose: Bool) {
            (self.model, self.mayCompose) = (model, mayCompose)
        }

        func willFetch(composing: Bool) throws(StoreError) {
            isFetch = true
            if composing, !mayCompose { throw StoreError(.unplanned, "not here") }
        }

        func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
            if !isFetch { lookedUp += 1 }
            return try model.content(of: offer)
        }

    }

    private enum Kind { case archive, file, check }

    /// Asks an origin of its own for each request of some kinds that clients make and that is answered.
    private func ask(
        _ kinds: Set<Kind>, of systems: Set<ClientSystem>, mayCompose: Bool,
        _ body: (WatchedOrigin, String, () throws -> ClientAnswer?) throws -> Void
    ) throws {
        var asked: Set<ClientSystem> = []
        for subject in try StrangerTests.subjects() {
            let (feed, configuration) = (subject.feed, subject.configuration)
            for request in subject.seeds {
                let whole = try feed.answer(request, configuration, subject.origin)
                guard let whole, whole.status == 200 else { continue }
                var kind = Kind.check
                if ["/assets/", "/www/"].contains(where: request.path.contains) { kind = .file }
                if case .archive = whole.body { kind = .archive }
                guard kinds.contains(kind) else { continue }
                asked.insert(feed.system)
                let origin = WatchedOrigin(subject.origin, mayCompose: mayCompose)
                try body(origin, request.path) { try feed.answer(request, configuration, origin) }
            }
        }
        expect(asked, equals: systems)
    }

    private static let composing: Set<ClientSystem> = [.codePush, .hotUpdater, .capgo]
    private static let all = composing.union([.chcp, .expo])

    @Test func `No archive of any system is begun where none may be made, nor looked up`() throws {
        try ask([.archive], of: Self.composing, mayCompose: false) { origin, path, answer in
            expectRefusal(.unplanned, "\(path)") { try answer() }
            expect(origin.lookedUp, equals: 0, "\(path)")
        }
    }

    @Test func `No file of any system is looked up before it is said to be fetched`() throws {
        try ask([.archive, .file], of: Self.all, mayCompose: true) { origin, path, answer in
            try expect(answer()?.status, equals: 200, "\(path)")
            expect(origin.isFetch && origin.lookedUp == 0, "\(path)")
        }
    }

    @Test func `No check of any system is taken for a fetch, and none makes an archive`() throws {
        try ask([.check], of: Self.all, mayCompose: false) { origin, path, answer in
            try expect(answer()?.status, equals: 200, "\(path)")
            expect(!origin.isFetch, "\(path)")
        }
    }
}
