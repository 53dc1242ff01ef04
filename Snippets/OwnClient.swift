// A whole program: a client of hot-updater's kind over castree. Its server tells digests and no sizes, and sends archives.
import ArchiveReading
import CASStore
import Foundation
import VersionTree

/// What the server says of a release: its id, and the SHA-256 of each file by its path.
struct Bundle: Decodable {
    struct Asset: Decodable { let fileHash: String }
    let bundleId: String
    let assets: [String: Asset]
}

// Your own requests stand here: a directory has `manifest.json`, `bundle.zip` and `assets/` with files by their digests.
guard CommandLine.arguments.count == 2 else { fatalError("usage: OwnClient DIRECTORY") }
let server = URL(filePath: CommandLine.arguments[1])
func body(_ path: String) throws -> Data { try Data(contentsOf: server.appending(path: path)) }

let versions = try VersionStore.create(at: "device").versions
let bundle = try JSONDecoder().decode(Bundle.self, from: body("manifest.json"))
let isHere = try versions.versions().contains {
    $0.version == bundle.bundleId && $0.state != .incomplete
}

/// The first release comes as an archive: straight into the store, and unpacked nowhere else.
func addArchive() throws {
    let archive = server.appending(path: "bundle.zip").path  // verify your digest or signature of it before
    let report = try versions.add(archive: archive, version: bundle.bundleId)
    print("\(report.files) files from the archive, \(report.newBytes) bytes were new")
}

/// A later one file by file: what any version has, under any path, is not asked for.
func addFiles() throws {
    let incoming = try IncomingContents(versions.store)
    var sizes: [ObjectID: Int64] = [:]
    var entries: [Manifest.Entry] = []
    for (path, asset) in bundle.assets {
        guard let address = ObjectID(asset.fileHash) else { fatalError("\(path) has no SHA-256") }
        if sizes[address] == nil { sizes[address] = try versions.store.open(address)?.byteCount }
        if sizes[address] == nil {
            var item = try incoming.begin(address, byteCount: nil)
            // After a kill the beginning is here already: ask your server for the rest alone.
            let rest = try body("assets/\(address)").dropFirst(Int(item.offset))
            try item.append([UInt8](rest).span.bytes)
            sizes[address] = try item.finish().object.byteCount  // verified
        }
        entries.append(
            Manifest.Entry(
                path: try TreePath(path), address: address, byteCount: sizes[address] ?? 0))
    }
    let manifest = try Manifest(
        version: VersionName(bundle.bundleId), ordinal: Int64(Date().timeIntervalSince1970),
        createdAt: Int64(Date().timeIntervalSince1970), entries: entries)
    if let ban = try versions.lifecycle().ban(of: manifest.contentAddress()) {
        fatalError("\(bundle.bundleId) has failed here before: \(ban.reason)")
    }
    try versions.register(manifest)
    _ = try incoming.commit()  // durable, readable, and the version is complete
    print("\(entries.count) files, \(try versions.missing(of: bundle.bundleId).count) missing")
}

if !isHere { try versions.versions().isEmpty ? addArchive() : addFiles() }
try versions.activateAtNextBoot(bundle.bundleId)

// The app starts: counted before anything is shown, so that a crash is counted too.
let boot = try versions.boot()
let pin = try versions.pin(boot.version)  // nobody retires what is shown
print("show device/versions/\(pin.version)")
try versions.confirm(boot.version, token: boot.token)  // when the page works; never, and the next boot goes back

// The server calls a release back: not as `rollback`, which bans the content, but as any switch to what is here.
func goBack(to version: String?) throws {
    if let version = try version ?? versions.lifecycle().embedded { try versions.activate(version) }
}
withExtendedLifetime(pin) {}
