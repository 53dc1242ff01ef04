import CASStore

@testable import VersionTree

// castree's own manifests, and the paths in them.

extension FuzzTarget {
    /// The entries of a manifest; throws what is wrong with it.
    typealias EntryReading = @Sendable ([UInt8]) throws(StoreError) -> [Manifest.Entry]

    static let manifests = FuzzTarget(name: "manifests", words: manifestWords) { input in
        try checkEntries(input) { (bytes) throws(StoreError) in
            Array(try Manifest(parsing: bytes).entries)
        }
        guard let manifest = try? Manifest(parsing: input) else { return }
        let written = try manifest.serialized()
        let again = try Manifest(parsing: written)
        try hold(try again.serialized() == written, "another manifest when it is written and read")
        _ = try manifest.contentAddress()
    }

    static func manifests(_ reading: @escaping EntryReading) -> FuzzTarget {
        FuzzTarget(name: "manifests", words: manifestWords) { try checkEntries($0, reading) }
    }

    private static let manifestWords = [
        "\"castree\":1", "\"entries\":[", "\"path\":\"", "\"address\":\"", "\"bytes\":",
        "\"routes\":[\"/",
        "\"labels\":{\"sha1\":\"", "\"executable\":true", "\"received\":{", "\"order\":",
        "\"version\":\"",
        "../", "/", "\\u0000", "\\u002e\\u002e", String(repeating: "0", count: 64),
    ]

    private static func checkEntries(_ input: [UInt8], _ reading: EntryReading) throws {
        if let entries = try unlessRefused(as: [.badManifest], { try reading(input) }) {
            try check(entries)
        }
    }

    static func check(_ entries: [Manifest.Entry]) throws {
        var last: [UInt8] = []
        var files: Set<[UInt8]> = []
        for entry in entries {
            let path = Array(entry.path.description.utf8)
            try check(path: path)
            try hold(last.lexicographicallyPrecedes(path), "paths out of order or twice")
            // "a!" may stand between "a" and "a/b".
            for end in path.indices where path[end] == 47 {
                try hold(!files.contains(Array(path[..<end])), "a file as a directory")
            }
            try hold(entry.byteCount >= 0, "a size of \(entry.byteCount)")
            for route in entry.routes { try hold(route.utf8.first == 47, "the route \(route)") }
            files.insert(path)
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

    /// The path that a text is; `nil` if it is refused.
    typealias PathReading = @Sendable (String) -> String?

    static let paths = paths { (try? TreePath($0))?.description }

    static func paths(_ reading: @escaping PathReading) -> FuzzTarget {
        FuzzTarget(
            name: "paths", words: ["../", "./", "/", "//", "..", "\\", "\u{301}", "a"]
        ) { try checkPath(String(decoding: $0, as: UTF8.self), reading) }
    }

    private static func checkPath(_ text: String, _ reading: PathReading) throws {
        if let path = reading(text) {
            try hold(path.utf8.elementsEqual(text.utf8), "another path than was given")
            try check(path: Array(text.utf8))
        }
        if let name = try? VersionName(text) {
            try hold(!name.description.utf8.contains(47), "a version's name with a slash")
            try check(path: Array(name.description.utf8))
        }
    }
}
