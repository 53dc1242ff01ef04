public import CASStore

/// The differences between two versions, computed from their manifests alone.
public struct VersionDiff: Sendable, Hashable {
    /// A file that has another path now.
    public struct Move: Sendable, Hashable {
        /// The old path.
        public var from: String
        /// The new path.
        public var to: String
    }

    /// Paths that only the second version has.
    public var added: [String] = []
    /// Paths that only the first version has.
    public var removed: [String] = []
    /// Paths whose content or executable bit differs.
    public var changed: [String] = []
    /// Content that left one path and is now at another.
    public var moved: [Move] = []
    /// The size of the objects that the first version does not have.
    public var newBytes: Int64 = 0

    package init(from old: Manifest, to new: Manifest) {
        var addedPositions: [Int] = []
        var removedPositions: [Int] = []
        new.forEachDifference(from: old) { difference in
            switch difference {
            case .removed(let position): removedPositions.append(position)
            case .added(let position): addedPositions.append(position)
            case .changed(_, let position): changed.append(new.path(position))
            }
        }
        pair(old, removedPositions, new, addedPositions)
        let known = Set(old.records.map(\.address))
        var seen: Set<ObjectID> = []
        for record in new.records
        where !known.contains(record.address) && seen.insert(record.address).inserted {
            newBytes += record.byteCount
        }
    }

    // Each path is in at most one move; equal content pairs up in path order.
    private mutating func pair(
        _ old: Manifest, _ removedPositions: [Int], _ new: Manifest, _ addedPositions: [Int]
    ) {
        var sources: [ObjectID: [Int]] = [:]
        // Empty files are alike by coincidence, not moved.
        for position in removedPositions.reversed() where old.records[position].byteCount > 0 {
            sources[old.records[position].address, default: []].append(position)
        }
        var isMoved: Set<Int> = []
        for position in addedPositions {
            guard let source = sources[new.records[position].address]?.popLast() else {
                added.append(new.path(position))
                continue
            }
            isMoved.insert(source)
            moved.append(Move(from: old.path(source), to: new.path(position)))
        }
        removed = removedPositions.filter { !isMoved.contains($0) }.map { old.path($0) }
    }
}

extension VersionStore {
    /// The differences between one version and another.
    /// - Throws: `.noVersion`.
    public func diff(from old: String, to new: String) throws(StoreError) -> VersionDiff {
        VersionDiff(from: try manifest(of: old), to: try manifest(of: new))
    }
}

extension VersionDiff {
    /// How many paths are named, and how many characters of each are shown.
    private static let (pathsMax, lengthMax) = (5, 160)

    /// Says why a directory with these differences cannot have the name of an existing version, and what to do.
    ///
    /// A store that holds wrong bytes under a name (an older castree trusted times that proved nothing) refuses the
    /// right ones in the same way: so the sentence names the files, and tells how to replace the version.
    func whyTaken(_ name: String) -> String {
        var parts: [String] = []
        parts += Self.part("other bytes or another mode", changed)
        parts += Self.part("only in the directory", added)
        parts += Self.part("only in the version", removed)
        parts += Self.part("under another path", moved.map { "\($0.from) → \($0.to)" })
        let differing =
            parts.isEmpty
            ? "its files are the same, but what it says about them differs"
            : "what differs: " + parts.joined(separator: "; ")
        return
            "version \(name) exists with other content (\(differing)); choose another name, or, to "
            + "replace it, retire it (castree retire \(name)) and repeat the command"
    }

    private static func part(_ what: String, _ paths: [String]) -> [String] {
        guard !paths.isEmpty else { return [] }
        var shown = paths.prefix(pathsMax).map { path in
            let text = printable(path)
            let isLong = text.count > lengthMax
            return "\"" + (isLong ? text.prefix(lengthMax) + "…" : text) + "\""
        }
        if paths.count > pathsMax { shown.append("and \(paths.count - pathsMax) more") }
        return ["\(what): " + shown.joined(separator: ", ")]
    }
}
