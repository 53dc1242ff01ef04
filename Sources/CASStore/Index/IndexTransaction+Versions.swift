// Versions as rows: listing, reservations, completeness.

extension IndexTransaction {
    private static let columns =
        "id, name, manifest, content, files, bytes, unique_bytes, complete, created_at, ordinal, "
        + "recovered"

    private func row(_ statement: Statement) throws(StoreError) -> VersionRow {
        guard let name = statement.text(1), let manifest = statement.address(2),
            let content = statement.address(3)
        else { throw StoreError(.index, "the index holds a damaged version") }
        return VersionRow(
            id: statement.integer(0), name: name, manifest: manifest, content: content,
            fileCount: statement.integer(4), byteCount: statement.integer(5),
            uniqueByteCount: statement.integer(6), isComplete: statement.integer(7) == 1,
            recovery: Recovery(rawValue: statement.integer(10)) ?? .none,
            createdAt: statement.integer(8),
            ordinal: statement.integer(9))
    }

    /// Newest first.
    func versions() throws(StoreError) -> [VersionRow] {
        let rows = try statement(
            "SELECT \(Self.columns) FROM version "
                + "ORDER BY ordinal DESC, name DESC")
        var result: [VersionRow] = []
        while try rows.step() { result.append(try row(rows)) }
        return result
    }

    func version(_ name: String) throws(StoreError) -> VersionRow? {
        try statement("SELECT \(Self.columns) FROM version WHERE name = ?").bind(1, name).first(row)
    }

    func nameInOtherCase(_ name: String) throws(StoreError) -> String? {
        try statement("SELECT name FROM version WHERE name = ?1 COLLATE NOCASE AND name <> ?1")
            .bind(1, name).first { $0.text(0) } ?? nil
    }

    func nextOrdinal() throws(StoreError) -> Int64 {
        try statement("SELECT coalesce(max(ordinal), 0) + 1 FROM version").firstInteger() ?? 1
    }

    /// What a version names and the store is missing, in the order of the index.
    func missing(from id: Int64) throws(StoreError) -> [Reference] {
        try references(of: id, where: "AND state <> 1")
    }

    /// What a version names, in the order of the index.
    func references(of id: Int64, where condition: String = "") throws(StoreError) -> [Reference] {
        var result: [Reference] = []
        try statement("SELECT address, bytes FROM object WHERE id BETWEEN ? AND ? \(condition)")
            .forEachRow(in: edges(of: id)) { row in
                guard let address = row.address(0) else { return }
                result.append(Reference(address: address, byteCount: row.integer(1)))
            }
        return result
    }

    /// Marks incomplete versions that are complete by now; returns their names.
    func completeVersions() throws(StoreError) -> [String] {
        var candidates: [(Int64, String, ObjectID?)] = []
        let rows = try statement(
            "SELECT id, name, manifest FROM version WHERE complete = 0 AND recovered <> 1")
        while try rows.step() {
            candidates.append((rows.integer(0), rows.text(1) ?? "", rows.address(2)))
        }
        var completed: [String] = []
        for (id, name, manifest) in candidates {
            guard try !isMissingAny(from: id), try promisesHold(name, manifest) else { continue }
            try setComplete(true, version: id)
            completed.append(name)
        }
        return completed
    }

    private func isMissingAny(from id: Int64) throws(StoreError) -> Bool {
        let rows = try statement(
            "SELECT 1 FROM object WHERE id BETWEEN ? AND ? AND state <> 1 LIMIT 1")
        for run in try edges(of: id).runs {
            rows.bind(1, run.lowerBound).bind(2, run.upperBound)
            if try rows.firstInteger() != nil { return true }
        }
        return false
    }

    /// Whether the sizes that a version promises are the real ones; its objects all exist.
    ///
    /// The promises are only in the manifest, which is read once, when the version would become complete. If it is
    /// unreadable or not the registered one, the version is not complete; if it is unreadable only now (permission,
    /// disk), the next use of the index looks again.
    private func promisesHold(_ name: String, _ manifest: ObjectID?) throws(StoreError) -> Bool {
        let registration: Registration
        do throws(StoreError) {
            registration = try index.readManifest(name)
        } catch {
            let isDamaged = error.cause == nil || error.isNotDirectory || error.isOfOneName
            guard error.code == .notFound || isDamaged else { throw error }
            if error.isOfOneName {
                try setMeta("manifests_changed_at", -1)
                index.isReconciled = false
            }
            return false
        }
        guard registration.manifest == manifest else { return false }
        let references = registration.references
        var objects = try ObjectCursor(self)
        defer { objects.end() }
        for position in 0..<references.count {
            let reference = references[position]
            guard let found = try objects.find(reference.address),
                found.byteCount == reference.byteCount
            else { return false }
        }
        return true
    }

    /// Records that an object is gone, which makes every version that names it incomplete.
    func loseObject(_ address: ObjectID) throws(StoreError) {
        guard let object = try object(address) else { return }
        if object.references == 0 { return try forget([object.id]) }
        if object.isPresent { try shiftKeeper(of: object, by: -object.byteCount) }
        try setState(.absent, of: object.id)
        for version in try versions() where try edges(of: version.id).contains(object.id) {
            try setComplete(false, version: version.id)
        }
    }

    private func setComplete(_ isComplete: Bool, version id: Int64) throws(StoreError) {
        try statement("UPDATE version SET complete = ? WHERE id = ?")
            .bind(1, isComplete ? 1 : 0).bind(2, id).run()
    }
}
