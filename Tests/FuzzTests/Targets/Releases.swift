import CASStore
import VersionTree

@testable import HotPush

// The manifests of other systems. The first byte says which format reads the rest, and how the origin
// is laid out.

extension FuzzTarget {
    static let releases = FuzzTarget(
        name: "releases",
        words: [
            "\"manifest\":[", "\"path\":\"", "\"url\":\"/", "\"where\":\"client\"",
            "\"type\":\"js\"",
            "\"hash\":\"", "\"sri\":\"", "\"size\":", "\"cacheable\":true", "\"sourceMap\":\"",
            "\"sourceMapUrl\":\"", "\"replaceable\":false", "\"version\":\"",
            "\"cordovaCompatibilityVersions\":{",
            "\"versionReplaceable\":\"", "\"files\":[", "\"route\":\"/", "\"routes\":[\"/",
            "\"commit\":\"", "\"deployed_at\":",
            "../", "//", "http://", "%2e%2e", "?hash=", "\\u0000",
        ]
    ) { input in
        guard let first = input.first else { return }
        let formats = ReleaseFormats.all
        let format = formats[Int(first) % formats.count]
        let bytes = Array(input[1...])
        let context = ReleaseContext(
            origin: try OriginURL("https://example.org/app/"),
            layout: first & 128 == 0 ? .server : .directory, platform: "android",
            app: AppIdentity(id: "app", rootURL: "https://example.org/app/"))
        _ = ReleaseFormats.all.first(where: { $0.recognizes(bytes) })
        guard let release = try unlessRefused({ try format.read(bytes, context) }) else { return }
        try hold(release.received == bytes, "other bytes are kept than came")
        var paths: Set<[UInt8]> = []
        for file in release.files {
            let path = Array(file.path.description.utf8)
            try check(path: path)
            try hold(paths.insert(path).inserted, "a path twice")
            try hold(file.byteCount ?? 0 >= 0, "a size of \(file.byteCount ?? 0)")
            for source in file.sources {
                let hasSpace = source.reference.utf8.contains { $0 <= 32 || $0 == 127 }
                try hold(!hasSpace, "a URL with white space")
            }
        }
    }
}
