import StorageTestSupport

@testable import ClientSystems
@testable import HotPush

/// An origin that remembers long answers by their names, as the server does.
private final class RememberingOrigin: ModelledOrigin {
    let model: ModelOrigin
    private(set) var written: [String: [UInt8]] = [:]

    init(_ model: ModelOrigin, _ written: [String: [UInt8]]) {
        (self.model, self.written) = (model, written)
    }

    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] {
        if let known = written[name] { return known }
        let bytes = try write()
        written[name] = bytes
        return bytes
    }
}

/// An answer that names hundreds of files is written once: for whom it was written must not be seen in it.
@Suite struct LongAnswerTests {
    private static func files(_ count: Int, _ text: String) -> [String: String] {
        var files = ["index.html": text]
        for number in 0..<count {
            files["f\(number)"] = "\(number % 7) \(number % 50 == 0 ? text : "")"
        }
        return files
    }

    /// Asks in every order of two rounds, with what was written before, and without.
    private func hold<Feed: ClientFeed>(
        _ requests: [ClientRequest], _ origins: [ModelOrigin],
        _ configurations: [ClientConfiguration], _ feed: Feed.Type, writtenAtLeast count: Int
    ) throws {
        var written: [String: [UInt8]] = [:]
        var answers: Set<[UInt8]> = []
        for _ in 0..<2 {
            for origin in origins {
                for configuration in configurations {
                    for request in requests {
                        let remembering = RememberingOrigin(origin, written)
                        let known = try Feed.answer(request, configuration, remembering)
                        let fresh = try Feed.answer(request, configuration, origin)
                        expect(known, equals: fresh, "\(request.path)")
                        written = remembering.written
                        if case .bytes(let bytes)? = known?.body { answers.insert(bytes) }
                    }
                }
            }
        }
        expect(written.count >= count && Set(written.values).isSubset(of: answers))
    }

    @Test func `Capgo: for another version, app, archive or server there is another answer`() throws
    {
        var origin = ModelOrigin()
        var origins: [ModelOrigin] = []
        for (name, text) in [("1.0.0", "one"), ("2.0.0", "two"), ("3.0.0", "one")] {
            let version = try origin.add(name, Self.files(600, text))
            try origin.publish(
                .version(version), now: Int64(origins.count + 1) * 1000, for: Capgo.self,
                CapgoTests.configuration)
            origins.append(origin)
        }
        var elsewhere = CapgoTests.configuration
        elsewhere.baseURL = "https://other"
        let requests = [
            CapgoTests.request(), CapgoTests.request(["version_name": "\"1.0.0\""]),
            CapgoTests.request(["plugin_version": "\"5.9.0\""]),
            CapgoTests.request(["app_id": "\"unknown\""]),
        ]
        try hold(
            requests, origins, [CapgoTests.configuration, elsewhere], Capgo.self,
            writtenAtLeast: 6)
    }

    @Test func `hot-updater: for another bundle on the device or another server, too`() throws {
        var model = HotUpdaterModel()
        var origins: [ModelOrigin] = []
        var ids = ["00000000-0000-0000-0000-000000000000"]
        for (name, text) in [("1", "one"), ("2", "two"), ("3", "three")] {
            let offer = try model.publish(name, Self.files(600, text), isMandatory: name == "3")
            ids.append(try require(offer.id))
            origins.append(model.origin)
        }
        var elsewhere = model.configuration
        elsewhere.baseURL = "https://other"
        let zero = ids[0]
        let requests = ids.map {
            ClientRequest("GET", "/for/hot-updater/app-version/ios/1.0.0/production/\(zero)/\($0)")
        }
        try hold(
            requests, origins, [model.configuration, elsewhere], HotUpdater.self,
            writtenAtLeast: 6)
    }
}
