import CASStore
import Expectations
import Foundation
import HotPush
import SocketTestSupport
import StorageTestSupport
import Testing
import VersionTree

/// nginx over a published directory, with the configuration of docs/origin-format.md.
@Suite("A published directory behind nginx", .enabled(if: NginxServer.isInstalled))
struct WebServerTests {
    @Test("is fetched with curl byte for byte: pointer, manifest, objects, and no log")
    func bytes() throws {
        let place = try PublishingPlace()
        let plan = try place.publish("2")
        let server = try NginxServer(root: place.origin, in: place.store.directory)
        defer { server.stop() }
        for (path, bytes) in try place.published() where !path.hasPrefix("log/") {
            let answer = try server.fetch(path)
            expect(answer.body, equals: bytes, "\(path)")
            expect(answer.head.hasPrefix("HTTP/1.1 200"), "\(path)")
        }
        let pointer = try server.fetch(OriginLayout.pointer(.stable))
        try expect(ChannelPointer(parsing: pointer.body, of: .stable), equals: plan.pointer)
        expect(pointer.head.contains("Cache-Control: no-cache"))
        expect(pointer.head.contains("Content-Type: application/json"))
        let object = try server.fetch(OriginLayout.object(plan.objects[0].address))
        expect(object.head.contains("Cache-Control: public, max-age=31536000, immutable"))
        expect(object.head.contains("Content-Type: application/octet-stream"))
        expect(!object.head.contains("Content-Encoding"))
        try expect(server.fetch(".publish/lock").head.hasPrefix("HTTP/1.1 404"))
        // Nothing new is one small answer.
        let tag = try require(
            pointer.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }?.dropFirst(6))
        let again = try server.fetch(
            OriginLayout.pointer(.stable), fields: ["If-None-Match: \(tag)"])
        expect(again.head.hasPrefix("HTTP/1.1 304") && again.body.isEmpty)
    }
}

/// An nginx of our own, on a port that is free.
final class NginxServer {
    static let path = ["/usr/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
    static var isInstalled: Bool { path != nil }

    private let process = Process()
    private let port: Int
    private let scratch: String

    init(root: String, in directory: TemporaryDirectory) throws {
        scratch = directory.appending("nginx")
        try FileManager.default.createDirectory(
            atPath: scratch, withIntermediateDirectories: true)
        port = try Self.freePort()
        let configuration = """
            daemon off; pid \(scratch)/pid; error_log \(scratch)/error.log;
            events {}
            http {
              access_log off;
              client_body_temp_path \(scratch)/t1; proxy_temp_path \(scratch)/t2;
              fastcgi_temp_path \(scratch)/t3; uwsgi_temp_path \(scratch)/t4; scgi_temp_path \(scratch)/t5;
              server {
                listen 127.0.0.1:\(port);
                root \(root);
                location /objects/   { types {} default_type application/octet-stream;
                                       add_header Cache-Control "public, max-age=31536000, immutable"; }
                location /manifests/ { types {} default_type application/json;
                                       add_header Cache-Control "public, max-age=31536000, immutable"; }
                location /channels   { types {} default_type application/json;
                                       add_header Cache-Control "no-cache"; }
                location = /origin.json { types {} default_type application/json; }
                location /           { return 404; }
              }
            }
            """
        try Data(configuration.utf8).write(to: URL(filePath: scratch + "/nginx.conf"))
        process.executableURL = URL(filePath: Self.path ?? "")
        process.arguments = [
            "-p", scratch, "-c", scratch + "/nginx.conf", "-e", scratch + "/error.log",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Until it listens; a loaded machine may take its time.
        let ready = try fetch(
            "origin.json", more: ["--retry", "120", "--retry-connrefused", "--retry-delay", "1"])
        try require(ready.head.hasPrefix("HTTP/1.1 "), "nginx did not start")
    }

    /// Ends the server, and its worker with it.
    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// What curl gets.
    func fetch(
        _ path: String, fields: [String] = [], more: [String] = []
    ) throws -> (head: String, body: [UInt8]) {
        let curl = Process()
        let name = scratch + "/" + UUID().uuidString
        curl.executableURL = URL(filePath: "/usr/bin/env")
        curl.arguments =
            ["curl", "-sS", "--max-time", "300", "-D", name + ".head", "-o", name + ".body"]
            + more + fields.flatMap { ["-H", $0] } + ["http://127.0.0.1:\(port)/\(path)"]
        curl.standardError = FileHandle.nullDevice
        try curl.run()
        curl.waitUntilExit()
        let head = try Data(contentsOf: URL(filePath: name + ".head"))
        // Without a body curl makes no file.
        let body = (try? Data(contentsOf: URL(filePath: name + ".body"))) ?? Data()
        return (String(decoding: head, as: UTF8.self), Array(body))
    }

    private static func freePort() throws -> Int {
        let raw = TestSocket.make()
        defer { close(raw) }
        guard TestSocket.bind(raw, to: 0) else { throw POSIXError(.EADDRINUSE) }
        return Int(TestSocket.port(of: raw))
    }
}
