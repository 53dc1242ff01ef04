// Versions as rows: listing, claims, completeness.

extension Index {
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

    /// The registered versions, newest first.
    func versions(_ connection: Connection) throws(StoreError) -> [VersionRow] {
        let rows = try connection.statement(
            "SELECT \(Self.columns) FROM version "
                + "ORDER BY ordinal DESC, name DESC")
        var result: [VersionRow] = []
        while try rows.step() { result.append(try row(rows)) }
        return result
    }

    /// A registered version by name.
    func version(_ name: String, _ connection: Connection) throws(StoreError) -> VersionRow? {
        let found = try connection.statement(
            "SELECT \(Self.columns) FROM version WHERE name = ?"
        ).bind(1, name)
        defer { found.reset() }
        return try found.step() ? try row(found) : nil
    }

    /// A name that differs from `name` in case only.
    func nameInOtherCase(_ name: String, _ connection: Connection) throws(StoreError) -> String? {
        let found = try connection.statement(
            "SELECT name FROM version WHERE name = ?1 COLLATE NOCASE "
                + "AND name <> ?1"
        ).bind(1, name)
        defer { found.reset() }
        return try found.step() ? found.text(0) : nil
    }

    /// The ordinal for the next version.
    func nextOrdinal(_ connection: Connection) throws(StoreError) -> Int64 {
        let row = try connection.statement("SELECT coalesce(max(ordinal), 0) + 1 FROM version")
        defer { row.reset() }
        return try row.step() ? row.integer(0) : 1
    }

    /// What a version names and the store lacks, in the order of the index.
    func missing(from id: Int64, _ connection: Connection) throws(StoreError) -> [MissingObject] {
        var result: [MissingObject] = []
        let edges = try edges(of: id, connection)
        let rows = try connection.statement(
            "SELECT address, bytes FROM object WHERE id BETWEEN ? AND ? AND state <> 1")
        for run in edges.runs {
            rows.bind(1, run.lowerBound).bind(2, run.upperBound)
            while try rows.step() {
                guard let address = rows.address(0) else { continue }
                result.append(MissingObject(address: address, byteCount: rows.integer(1)))
            }
        }
        return result
    }

    /// What a version names, in the order of the index.
    func references(of id: Int64, _ connection: Connection) throws(StoreError) -> [Reference] {
        var result: [Reference] = []
        let rows = try connection.statement(
            "SELECT address, bytes FROM object WHERE id BETWEEN ? AND ?")
        for run in try edges(of: id, connection).runs {
            rows.bind(1, run.lowerBound).bind(2, run.upperBound)
            while try rows.step() {
                guard let address = rows.address(0) else { continue }
                result.append(Reference(address: address, byteCount: rows.integer(1)))
            }
        }
        return result
    }

    /// Looks again which incomplete versions are complete now; returns their names.
    func completeVersions(_ connection: Connection) throws(StoreError) -> [String] {
        var candidates: [(Int64, String, ObjectID?)] = []
        let rows = try connection.statement(
            "SELECT id, name, manifest FROM version WHERE complete = 0 AND recovered <> 1")
        while try rows.step() {
            candidates.append((rows.integer(0), rows.text(1) ?? "", rows.address(2)))
        }
        var completed: [String] = []
        for (id, name, manifest) in candidates {
            guard try !isMissingAny(from: id, connection),
                try promisesHold(name, manifest, connection)
            else { continue }
            try connection.statement("UPDATE version SET complete = 1 WHERE id = ?")
                .bind(1, id).run()
            completed.append(name)
        }
        return completed
    }

    private func isMissingAny(
        from id: Int64, _ connection: Connection
    ) throws(StoreError) -> Bool {
        let rows = try connection.statement(
            "SELECT 1 FROM object WHERE id BETWEEN ? AND ? AND state <> 1 LIMIT 1")
        defer { rows.reset() }
        for run in try edges(of: id, connection).runs {
            rows.bind(1, run.lowerBound).bind(2, run.upperBound)
            if try rows.step() { return true }
        }
        return false
    }

    /// Whether a version whose objects are all there promises the sizes that they have.
    ///
    /// Only the manifest says what it promised; it is read once, when the version would become
    /// complete. What cannot be read, or is not the one that was registered, is not complete.
    private func promisesHold(
        _ name: String, _ manifest: ObjectID?, _ connection: Connection
    ) throws(StoreError) -> Bool {
        let registration: Registration
        do throws(StoreError) {
            registration = try readManifest(name)
        } catch {
            let isDamaged = error.cause == nil || error.isNotDirectory
            guard error.code == .notFound || isDamaged else { throw error }
            return false
        }
        guard registration.manifest == manifest else { return false }
        let references = registration.references
        var objects = try ObjectCursor(connection)
        defer { objects.end() }
        for position in 0..<references.count {
            let reference = references[position]
            guard let found = try objects.find(reference.address),
                found.byteCount == reference.byteCount
            else { return false }
        }
        return true
    }

    /// Notes that an object is gone: every version that names it is incomplete.
    func loseObject(_ address: ObjectID, _ connection: Connection) throws(StoreError) {
        guard let object = try object(address, connection) else { return }
        if object.references == 0 { return try forget([object.id], connection) }
        if object.isPresent { try shiftKeeper(of: object, by: -object.byteCount, connection) }
        try setState(.absent, of: object.id, connection)
        for version in try versionsNaming(object.id, connection) {
            try connection.statement("UPDATE version SET complete = 0 WHERE id = ?")
                .bind(1, version.id).run()
        }
    }

    /// The registered versions that name an object.
    func versionsNaming(
        _ object: Int64, _ connection: Connection
    ) throws(StoreError) -> [VersionRow] {
        var result: [VersionRow] = []
        for version in try versions(connection) {
            let edges = try edges(of: version.id, connection)
            if edges.runs.contains(where: { $0.contains(object) }) { result.append(version) }
        }
        return result
    }
}
