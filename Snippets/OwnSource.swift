// A whole program: updates that no origin offers. Files come from a stick, and castree does the rest.
import CASStore
import Foundation
import HotPush
import VersionTree

/// A directory `content` of files named by their SHA-256, and beside it `release`: a name, a number
/// that grows, and a line for each file: SHA-256, size, path.
struct Stick: UpdateSource {
    let origin: String
    let versions: VersionStore

    @concurrent func check() async throws(StoreError) -> Release? {
        let manifest = try read()
        var release = Release(
            family: "stick/1", version: manifest.version, trust: .digest, received: [])
        release.order = manifest.ordinal
        release.files = manifest.entries.map { entry in
            ReleaseFile(path: entry.path, address: entry.address, byteCount: entry.byteCount)
        }
        return release
    }

    @concurrent func plan(_ release: Release) async throws(StoreError) -> UpdateCost {
        var cost = UpdateCost()
        for file in release.files {
            guard let address = file.address, let byteCount = file.byteCount else { continue }
            if try versions.store.contains(address) {
                cost.reusedFiles += 1
                cost.reusedBytes += byteCount
            } else {
                cost.files += 1
                cost.bytes += byteCount
            }
        }
        return cost
    }

    @concurrent func download(
        _ release: Release, progress: @escaping @Sendable (UpdateProgress) -> Void
    ) async throws(StoreError) -> DownloadFigures {
        let version = release.version.description
        try versions.register(try read())
        let missing = try versions.missing(of: version)
        let total = missing.reduce(0) { $0 + $1.bytes }
        let incoming = try IncomingContents(versions.store)
        var figures = DownloadFigures()
        for entry in missing {
            var item = try incoming.begin(entry.address, byteCount: entry.bytes)
            try item.restart()  // a stick is quick: what an earlier attempt left is not needed
            try item.append([UInt8](try bytes("content/\(entry.address)")).span.bytes)
            _ = try item.finish()  // verified, and not yet readable
            figures.files += 1
            figures.bytes += entry.bytes
            progress(UpdateProgress(figures: figures, filesTotal: missing.count, bytesTotal: total))
        }
        _ = try incoming.commit()  // durable, readable, and the version is complete
        return figures
    }

    private func read() throws(StoreError) -> Manifest {
        let lines = String(decoding: try bytes("release"), as: UTF8.self).split(separator: "\n")
        var entries: [Manifest.Entry] = []
        for line in lines.dropFirst(2) {
            let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard parts.count == 3, let address = ObjectID(parts[0]), let size = Int64(parts[1])
            else { throw StoreError(.badRelease, "\(origin)/release: \(line)") }
            entries.append(
                Manifest.Entry(path: try TreePath(parts[2]), address: address, byteCount: size))
        }
        guard lines.count > 2, let ordinal = Int64(lines[1]) else {
            throw StoreError(.badRelease, "\(origin)/release has no name, number and files")
        }
        return try Manifest(
            version: VersionName(String(lines[0])), ordinal: ordinal,
            createdAt: Int64(Date().timeIntervalSince1970), entries: entries)
    }

    private func bytes(_ path: String) throws(StoreError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: origin).appending(path: path))
        } catch {
            throw StoreError(.io, "the stick \(origin) cannot be read: \(error)")
        }
    }
}

guard CommandLine.arguments.count == 2 else { fatalError("usage: OwnSource DIRECTORY") }
let versions = try VersionStore.create(at: "device").versions
let source = Stick(origin: CommandLine.arguments[1], versions: versions)
let updates = UpdateManager(versions, source: source)
_ = try await updates.start()
print(try await updates.update())
