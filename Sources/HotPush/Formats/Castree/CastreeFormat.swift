package import CASStore
import StrictJSON
package import VersionTree

/// castree's own format: the canonical manifest, with the objects beside it.
///
/// An origin has the layout of a store, `manifests/<version>.json` and `objects/ab/cdef…`, which any web server can
/// serve and any cache may keep indefinitely.
package struct CastreeFormat: ReleaseFormat {
    package init() {}

    package var name: String { "castree" }
    package var number: Int { Int(Manifest.formatVersion) }

    package func documents(_ layout: DocumentLayout, version: VersionName?) -> [ReleaseDocument] {
        // A manifest does not tell which version is offered.
        guard let version else { return [] }
        return [ReleaseDocument(path: OriginLayout.manifest(named: version))]
    }

    /// Identified by the key `castree`, which holds the format's number.
    package func recognizes(_ bytes: [UInt8]) -> Bool {
        scanMembers(of: bytes) { key, kind, _ in key == "castree" && kind == .number }
    }

    /// Throws `.badManifest` with the error and its place.
    package func read(
        _ bytes: [UInt8], _ context: ReleaseContext
    ) throws(StoreError) -> Release {
        let limits = Manifest.Limits.foreign(entryCountMax: context.entryCountMax)
        return release(of: try Manifest(parsing: bytes, limits: limits), received: bytes)
    }

    /// - Parameters:
    ///   - received: the bytes from which the manifest was read.
    ///   - epoch: the epoch of its objects.
    package func release(
        of manifest: Manifest, received: [UInt8], epoch: Int64 = 0
    ) -> Release {
        var release = Release(
            family: family, version: manifest.version, trust: .digest, received: received)
        release.order = manifest.ordinal
        release.foreign = manifest.foreign
        release.files.reserveCapacity(manifest.count)
        for entry in manifest.entries {
            var file = ReleaseFile(
                path: entry.path, source: OriginLayout.path(.object, entry.address, in: epoch))
            file.address = entry.address
            file.byteCount = entry.byteCount
            file.isExecutable = entry.isExecutable
            file.routes = entry.routes
            file.checks = entry.labels.map { .digest($0) }
            file.foreign = entry.foreign
            file.isLaunchFile = entry.path.description.utf8.elementsEqual("index.html".utf8)
            release.files.append(file)
        }
        return release
    }

    /// For an object that is gone, also says how to restore it.
    package func message(_ problem: ReleaseProblem) -> String {
        guard case .fileStatus(_, let status) = problem, [404, 410].contains(status) else {
            return problem.message
        }
        return "\(problem.message); castree publish --verify repairs it"
    }
}
