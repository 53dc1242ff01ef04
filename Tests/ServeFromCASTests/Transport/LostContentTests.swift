import StorageTestSupport

@testable import ServeFromCAS
@testable import WebServer

/// Content that is not there any more when it is to be sent.
private struct LostContent: ObjectSource {
    let code: StoreError.Code

    func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        throw StoreError(code, "it is gone")
    }
}

@Suite("Content that is lost between a request and its answer")
struct LostContentTests {
    @Test(
        "is damage and 500 where it must be, and 404 where it may be removed, as in an origin that is pruned",
        arguments: [
            (StoreError.Code.missingObject, true, 500), (.notFound, true, 404),
            (.damagedObject, true, 500), (.io, true, 500), (.notFound, false, 500),
        ])
    func statuses(_ code: StoreError.Code, _ mayVanish: Bool, _ status: Int) throws {
        let object = try require(ObjectID(bytes: [UInt8](repeating: 7, count: 32)))
        let damage = Sink<StoreError>()
        var options = HTTPServer.Options()
        options.loops = 1
        options.onDamage = { damage.add($0) }
        let handler = TestHandler(objects: [:], ids: [:]) { _, _, _ in
            var response = Response(
                head: ResponseHead(200), body: .piece(.object(object, range: 0..<3, size: 3)))
            response.mayVanish = mayVanish
            return .response(response)
        }
        let server = try HTTPServer(options, objects: LostContent(code: code)) { _, _ in handler }
        try server.start()
        defer { server.stop(within: 0) }
        let client = try TestClient(port: server.port)
        client.send(get("/file"))
        let response = try require(client.response())
        expect(response.status, equals: status)
        expect(response.value("Connection"), equals: "close")
        expect(client.isAtEnd())
        expect(damage.all.isEmpty, equals: status == 404)
    }
}
