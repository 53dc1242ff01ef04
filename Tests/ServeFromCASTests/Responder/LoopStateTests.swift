import WebTestSupport

@testable import ServeFromCAS

@Suite("A thread that answers requests")
struct LoopStateTests {
    @Test("answers from the site that was decided on, though another has become current since")
    func decided() throws {
        let app = try TestApp(TemporaryStore.app())
        let (handler, cache) = (app.server.handler, app.server.handler.cache)
        let sites = [try cache.open(VersionName("1")).site, try cache.open(VersionName("2")).site]
        let request = try RequestHead(method: "GET", target: "/app.js", fields: scriptLoad)
        let state = LoopState()
        for round in 0..<4 {
            // Whether this thread has taken in what is current, or another has switched since.
            for isRenewed in [true, false] {
                if isRenewed { state.renew(cache) }
                for (site, name) in zip(sites, ["one", "two"]) {
                    let answer = state.respond(to: request, from: site)
                    guard case .piece(.object(let address, _, _)) = answer.body else {
                        throw Unexpected("no file")
                    }
                    try expect(address, equals: SampleSite.address("run('\(name)')"))
                }
                try app.store.versions.activate(round % 2 == 0 ? "2" : "1")
                handler.follow()
            }
        }
    }
}
