import CASStore

@testable import VersionTree

// castree's own manifests, and the paths in them.

extension FuzzTarget {
    static let manifests = FuzzTarget(
        name: "manifests",
        words: [
            "\"castree\":1", "\"entries\":[", "\"path\":\"", "\"address\":\"", "\"bytes\":",
            "\"routes\":[\"/",
            "\"labels\":{\"sha1\":\"", "\"executable\":true", "\"received\":{", "\"order\":",
            "\"version\":\"",
            "../", "/", "\\u0000", "\\u002e\\u002e", String(repeating: "0", count: 64),
        ]
    ) { input in
        let manifest: Manifest
        do throws(StoreError) {
            manifest = try Manifest(parsing: input)
        } catch {
            try hold(error.code == .badManifest, "\(error.code)")
            return
        }
        try check(manifest)
        let written = try manifest.serialized()
        let again = try Manifest(parsing: written)
        try hold(try again.serialized() == written, "another manifest when it is written and read")
        _ = try manifest.contentAddress()
    }

    static func check(_ manifest: Manifest) throws {
        var last: [UInt8] = []
        for entry in manifest.entries {
            let path = Array(entry.path.description.utf8)
            try check(path: path)
            try hold(last.lexicographicallyPrecedes(path), "paths out of order or twice")
            try hold(!path.starts(with: last + [47]) || last.isEmpty, "a file as a directory")
            try hold(entry.byteCount >= 0, "a size of \(entry.byteCount)")
            for route in entry.routes { try hold(route.utf8.first == 47, "the route \(route)") }
            last = path
        }
    }

    /// No path reaches outside its tree, whatever the system makes of it.
    static func check(path: [UInt8]) throws {
        let components = path.split(separator: 47, omittingEmptySubsequences: false)
        try hold(!components.isEmpty && path.count <= 1024, "a path of \(path.count) bytes")
        for component in components {
            try hold(!component.isEmpty && component.count <= 255, "a component's length")
            try hold(component != [46] && component != [46, 46], "a component of dots")
            try hold(!component.contains(0) && !component.contains(92), "a NUL or backslash")
        }
    }

    static let paths = FuzzTarget(
        name: "paths", words: ["../", "./", "/", "//", "..", "\\", "\u{301}", "a"]
    ) { input in
        let text = String(decoding: input, as: UTF8.self)
        if let path = try? TreePath(text) {
            try hold(path.description.utf8.elementsEqual(text.utf8), "another path than was given")
            try check(path: Array(text.utf8))
        }
        if let name = try? VersionName(text) {
            try hold(!name.description.utf8.contains(47), "a version's name with a slash")
            try check(path: Array(name.description.utf8))
        }
    }
}
