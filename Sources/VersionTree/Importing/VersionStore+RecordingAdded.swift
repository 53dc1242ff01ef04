import CASStore

struct RecordedObjects {
    var count = 0
    var byteCount: Int64 = 0
    var completed: [String] = []
}

extension VersionStore {
    /// Ends every add: records the version and reports the result.
    /// - Parameters:
    ///   - leftOut: for the report.
    ///   - unwanted: for the report.
    ///   - bring: reserves what the version names and creates missing objects and executable copies; `true` marks a
    ///     repetition. Returns the source files, as far as there are any.
    ///   - ended: called when the version is recorded.
    func record(
        _ manifest: Manifest, _ lease: borrowing Lease, leavingOut leftOut: [String],
        unwanted: [String],
        bringing bring: (Registration, Bool) throws(StoreError) -> SourceFiles,
        ended: () -> RecordedObjects
    ) throws(StoreError) -> AddReport {
        let name = manifest.version.description
        let collisions = try refuseCollisions(of: manifest)
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        var completed: [String]?
        do throws(StoreError) {
            // Repeats only if the version was retired, or something collected, between the look-up and the reservation.
            for attempt in 0...8 where completed == nil {
                let found = try bring(registration, attempt > 0)
                completed = try record(manifest, file, registration, found, lease)
            }
        } catch {
            throw explained(error, adding: manifest)
        }
        guard let completed else {
            throw StoreError(
                .busy,
                "version \(name) is retired or repaired over and over by another process; "
                    + "repeat the command when it has ended")
        }
        let new = ended()
        let report = AddReport(
            version: name, files: manifest.count, bytes: manifest.byteCount, newObjects: new.count,
            newBytes: new.byteCount, collisions: collisions,
            healed: try restoreTrees(of: new.completed + completed, except: name),
            leftOut: leftOut, unwanted: unwanted)
        note(
            .added(
                version: name, files: report.files, bytes: report.bytes,
                newObjects: report.newObjects, newBytes: report.newBytes))
        return report
    }

    /// Writes the manifest and tree of a version whose objects exist, and records it.
    /// - Returns: as ``PreparedVersion/record(knowing:cached:)``.
    private func record(
        _ manifest: Manifest, _ file: ManifestFile, _ registration: Registration,
        _ found: SourceFiles, _ lease: borrowing Lease
    ) throws(StoreError) -> [String]? {
        try recoverUnknownTree(registration.name, for: registration.content)
        let written = try file.write()
        // An object may have gone since it was looked at.
        let tree = try allowing(
            { $0.code == .missingObject },
            try buildTree(of: manifest, lease: lease, trusting: true))
        guard let tree else { return nil }
        let prepared = try PreparedVersion(self, registration, file, written, tree)
        return try prepared.record(knowing: found.knowledge(of:), cached: found.cacheable)
    }
}

/// Explains why a directory cannot have a name: what the existing version shows, and what differs.
///
/// A store that holds wrong bytes under a name (an older castree trusted times that proved nothing) refuses the right
/// ones in the same way. The message therefore names the files and tells how to replace the version.
enum TakenName {
    /// How many paths are named, and how many characters of each are shown.
    private static let (pathsMax, lengthMax) = (5, 160)

    static func sentence(_ name: String, _ diff: VersionDiff) -> String {
        var parts: [String] = []
        parts += part("other bytes or another mode", diff.changed)
        parts += part("only in the directory", diff.added)
        parts += part("only in the version", diff.removed)
        parts += part("under another path", diff.moved.map { "\($0.from) → \($0.to)" })
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

extension VersionStore {
    /// Adds the differences to the error of an add whose name is taken, as far as they can be determined.
    func explained(_ error: StoreError, adding manifest: Manifest) -> StoreError {
        let name = manifest.version.description
        // A name that differs in case, or an unreadable manifest: the error already says all there is to say.
        guard error.code == .versionExists, let old = try? self.manifest(of: name) else {
            return error
        }
        let diff = VersionDiff(from: old, to: manifest)
        return StoreError(.versionExists, TakenName.sentence(name, diff))
    }
}
