import ProgramTestSupport

extension StrangerGround {
    private static let coming = String(repeating: "f", count: 64)
    private static let lease = "4194000-abababababababab"

    /// The paths, inside the store.
    ///
    /// `{object}` and `{executable}` stand for those of two objects.
    static let paths = [
        "FORMAT", "objects", "objects/{shard}", "objects/{object}", "objects/{executable}.x",
        "staging", "staging/\(lease)", "staging/\(coming)", "staging/\(coming).from",
        "staging/\(coming).\(coming).100", "quarantine", "quarantine/\(coming)",
        "quarantine/stray-abababababababab", "manifests", "manifests/1.json", "manifests/2.json",
        "manifests/3.json", "lifecycle.json", "versions", "versions/1", "versions/2", "versions/3",
        "versions/1/js", "versions/1/js/app.js", "versions/.1.\(lease)", "current", "packing",
        "packing/00000000000000000000000000000000", "index.sqlite", "index.sqlite-journal",
        "stamp", "verified", "last-check.json", "leases", "leases/\(lease)", "leases/.index",
        "leases/.writer", "leases/.lifecycle", "leases/.server", "leases/.events",
        "leases/.channels", "leases/.trust", "leases/.start", "leases/.pin-abababababababab-1",
        "leases/.pull-4", "leases/.fetch-\(coming)", "server.json", "trust.json",
        "channels.json", "pointers", "pointers/\(coming)", "owed.json", "device.json",
        "events.jsonl", "events.older.jsonl", "reserve", ".lifecycle.json.new", ".current.new",
        ".trust.json.new",
    ]

    /// What is made again, or passed by, without a word; and the quarantine, where all may stand.
    static func isMadeAgain(_ path: String) -> Bool {
        path.hasPrefix(".") || path.hasPrefix("index.sqlite") || path == "stamp"
            || path.hasPrefix("quarantine/")
    }

    /// What a repair cannot mend without guessing.
    ///
    /// Nothing but FORMAT says that it is a store; a manifest that is made again
    /// from its tree may be missing something, and one without a tree cannot be made; nobody knows whose signatures
    /// count.
    static func isLost(_ path: String) -> Bool {
        path == "FORMAT" || path.hasPrefix("manifests") || path == "trust.json"
    }

    /// Whether it is a file with other names in the store: root gives back none of these, since the owner may have linked
    /// another user's.
    static func isShared(_ path: String) -> Bool {
        path.hasPrefix("objects/{object}") || path.hasPrefix("objects/{executable}")
            || path.hasSuffix("app.js")
    }

    /// Whether a verb goes by what is lost with a path, though the store is sound again.
    static func forgets(_ path: String, _ verb: String) -> Bool {
        switch path {
        case "lifecycle.json": ["boot", "confirm", "rollback", "activate", "retire"].contains(verb)
        default: false
        }
    }

    func resolved(_ pattern: String) throws -> String {
        let objects = "\(place.directory.path)/sound/objects"
        func path(of content: String) throws -> String {
            try require(
                Damage.files(below: objects).first {
                    $0.value == Array(content.utf8) && !$0.key.hasSuffix(".x")
                }?.key)
        }
        let object = try path(of: "app 1")
        return try pattern.replacingOccurrences(of: "{object}", with: object)
            .replacingOccurrences(of: "{shard}", with: String(object.prefix(2)))
            .replacingOccurrences(of: "{executable}", with: path(of: "#!/bin/sh\n# 1\n"))
    }

    /// Puts a stranger in place of a path of `s`.
    ///
    /// - Returns: `false` if it would be none, or cannot be made here.
    func put(_ kind: Kind, at path: String) throws -> Bool {
        let store = "\(place.directory.path)/s"
        let full = "\(store)/\(path)"
        let parent = (full as NSString).deletingLastPathComponent
        var here = stat()
        let isThere = lstat(full, &here) == 0
        let isDirectory = isThere && here.st_mode & S_IFMT == S_IFDIR
        if [.closed, .foreign].contains(kind) {
            let isTaken = path.hasPrefix("staging/") || path.hasPrefix("leases/")
            guard isThere || isTaken, here.st_mode & S_IFMT != S_IFLNK else { return false }
            if !isThere { try Damage.replace(full, by: .emptyFile) }
            if let user { lchown(full, user, user) }
            if kind == .foreign { lchown(full, 0, 0) }
            try Damage.setMode(full, kind == .closed ? 0 : isDirectory ? 0o700 : 0o600)
            return true
        }
        let belongs =
            isDirectory || path.hasPrefix("versions/") || path.hasPrefix("packing")
            || path == "pointers" || path == "staging/\(Self.lease)"
        if belongs, [.directory, .fullDirectory].contains(kind) { return false }
        let mode = try? Damage.mode(parent)
        try Damage.makeDirectory(parent)
        try Damage.setMode(parent, 0o755)
        defer { if let mode { try? Damage.setMode(parent, mode) } }
        if isDirectory {
            try place.run(.shell, ["-c", "chmod -R u+w \"$0\"; rm -rf \"$0\"", full]).ended()
        }
        let outside = "\(place.directory.path)/outside"
        switch kind {
        case .directory: try Damage.replace(full, by: .directory)
        case .fullDirectory:
            try Damage.replace(full, by: .directory)
            try Data("precious".utf8).write(to: URL(filePath: full + "/precious"))
        case .danglingLink: try Damage.replace(full, by: .symbolicLink(outside + "/nothing"))
        case .linkToFile: try Damage.replace(full, by: .symbolicLink(outside + "/file"))
        case .linkToDirectory: try Damage.replace(full, by: .symbolicLink(outside))
        case .linkToItself:
            try Damage.replace(full, by: .symbolicLink((path as NSString).lastPathComponent))
        case .closed, .foreign: return false  // above
        case .fifo: try Damage.replace(full, by: .fifo)
        case .socket: try Damage.replace(full, by: .socket)
        case .device:
            guard geteuid() == 0 else { return false }
            Damage.remove(full)
            // Linux: /dev/zero, which has no end.
            guard mknod(full, S_IFCHR | 0o666, 0x105) == 0 else { return false }
        }
        return true
    }
}
