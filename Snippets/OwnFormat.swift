// A whole program: releases in a format of your own, and a transport of your own to carry them.
import CASStore
import HotPush
import VersionTree

/// `release.txt`: the version on the first line, then a line for each file: SHA-256, size, path.
struct LineFormat: ReleaseFormat {
    let name = "lines"
    let number = 1

    func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        [ReleaseDocument(path: "release.txt", accept: "text/plain", mediaTypes: ["text/plain"])]
    }

    func recognizes(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "lines 1 ".utf8) }

    func read(_ bytes: [UInt8], _ context: ReleaseContext) throws(StoreError) -> Release {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let head = lines.first, head.hasPrefix("lines 1 ") else {
            throw StoreError(.badRelease, "release.txt has no first line: write `lines 1 VERSION`")
        }
        let version = try VersionName(String(head.dropFirst(8)))
        var release = Release(family: family, version: version, trust: .digest, received: bytes)
        for line in lines.dropFirst() {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3, let address = ObjectID(parts[0]), let size = Int64(parts[1])
            else { throw StoreError(.badRelease, "release.txt: \(line) is no SHA-256 SIZE PATH") }
            var file = ReleaseFile(path: try TreePath(parts[2]), source: parts[2])
            file.address = address  // what is here already is not asked for
            file.byteCount = size
            release.files.append(file)
        }
        return release
    }
}

/// Answers from memory; yours hands requests to the system's client.
final class MemoryTransport: Transport {
    var contents: [String: [UInt8]] = [:]

    func run(_ client: some TransferClient) throws(StoreError) {
        while client.tick(), case .request(let request) = client.next() {
            guard let body = contents[request.url] else {
                let head = TransferHead(status: 404, fields: [], url: request.url)
                _ = client.begin(request.id, head)
                client.end(request.id, .finished)
                continue
            }
            let fields = [(name: "content-length", value: "\(body.count)")]
            let head = TransferHead(status: 200, fields: fields, url: request.url)
            guard case .take = client.begin(request.id, head) else {
                client.end(request.id, .refused)
                continue
            }
            let goesOn = body.withUnsafeBytes { client.receive(request.id, $0) }
            client.end(request.id, goesOn ? .finished : .refused)
        }
    }
}

let page = Array("<h1>Hello</h1>\n".utf8)
let address = "320a24004f649a98b65535e7c06bd8df344e10a3d006316ac63dbbacb1db0203"
let transport = MemoryTransport()
transport.contents["https://example.org/release.txt"] = Array(
    "lines 1 7.0\n\(address) \(page.count) index.html\n".utf8)
transport.contents["https://example.org/index.html"] = page

var options = PullOptions()
options.reader = LineFormat()
let versions = try VersionStore.create(at: "device").versions
let pull = Pull(into: versions, over: transport, options)
if let report = try pull.run("https://example.org") {
    let figures = report.figures
    print("version \(report.version): \(figures.files) objects fetched, \(figures.bytes) bytes")
}
