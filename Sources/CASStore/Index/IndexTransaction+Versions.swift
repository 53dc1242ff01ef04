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

// Counts which versions name which objects, and what each of them alone keeps.

enum ObjectState: Int64 {
    /// Named by a version, not on disk.
    case absent = 0
    /// On disk, verified and durable.
    case present = 1
    /// Named by nothing; a collector has announced that it will delete the file.
    case markedForDeletion = 2
}

/// What a writer knows about an object of the version that it records.
package struct WriterKnowledge: Sendable {
    package var fingerprint: Fingerprint
    /// Whether it has itself verified that the object is in `objects/`; otherwise a repair may have removed it since.
    package var hasMadeSure: Bool

    package init(fingerprint: Fingerprint, hasMadeSure: Bool) {
        self.fingerprint = fingerprint
        self.hasMadeSure = hasMadeSure
    }
}

extension IndexTransaction {
    /// Inserts a version row with its references and counts them, in the caller's transaction.
    /// - Parameters:
    ///   - stored: what the writer knows about the object at a position of the manifest. The index answers for the
    ///     others.
    ///   - acceptsContradictions: register the version even if it gives an existing object another size; it can never
    ///     be complete.
    ///   - isThere: whether the file exists; called for each object marked for deletion, and for each that the index
    ///     does not know as present and the writer has not verified. Inside a write transaction neither collectors nor
    ///     repairs remove any, so the answer holds.
    /// - Returns: the positions of the references that are not present.
    /// - Throws: `.mismatch` if the version gives an existing object another size. For a missing one two versions may
    ///   promise two sizes; its bytes will tell.
    func insertVersion(
        _ registration: Registration,
        stored: (Int) -> WriterKnowledge? = { _ in nil }, acceptsContradictions: Bool = false,
        isThere: (ObjectID) throws(StoreError) -> Bool
    ) throws(StoreError) -> [UInt32] {
        let version = try nextVersionID()
        let firstNew = try nextObjectID()
        // Look first and write afterwards: the cursor must not see what is written.
        let rows = try lookUp(registration.references)
        var absent: [UInt32] = []
        for (position, found) in rows.changing {
            let reference = registration.references[Int(position)]
            let known = stored(registration.references.manifestPosition(Int(position)))
            var isPresent = found.state == .present
            let fingerprint =
                isPresent ? known?.fingerprint : try Self.fingerprint(known, reference, isThere)
            if found.state == .markedForDeletion { isPresent = try isThere(reference.address) }
            if fingerprint == nil, isPresent, found.byteCount != reference.byteCount {
                guard acceptsContradictions else {
                    throw Self.contradiction(registration.name, reference, found.byteCount)
                }
                isPresent = false
            }
            if fingerprint != nil || isPresent {
                try setPresent(
                    StoredObject(
                        address: reference.address, byteCount: reference.byteCount,
                        fingerprint: fingerprint))
            } else {
                if found.state == .markedForDeletion { try setState(.absent, of: found.id) }
                absent.append(position)
            }
        }
        let insert = try statement(
            "INSERT INTO object (id, address, bytes, fingerprint, state, refs, keepers) "
                + "VALUES (?, ?, ?, ?, ?, 1, ?)")
        insert.bind(6, version)
        for (id, position) in zip(firstNew..., rows.missing) {
            let reference = registration.references[Int(position)]
            let fingerprint = try Self.fingerprint(
                stored(registration.references.manifestPosition(Int(position))), reference, isThere)
            if fingerprint == nil { absent.append(position) }
            try insert.bind(1, id).bind(2, reference.address).bind(3, reference.byteCount)
                .bind(4, fingerprint).bind(5, fingerprint == nil ? 0 : 1).run()
        }
        var edges = rows.known
        try count(edges, by: 1, version: version)
        // New ids are larger than all known ones.
        if !rows.missing.isEmpty {
            edges.append(firstNew...(firstNew + Int64(rows.missing.count) - 1))
        }
        try insertRow(registration, id: version, edges, isComplete: absent.isEmpty)
        return absent
    }

    private struct KnownReferences {
        var known = EdgeRuns([])
        var missing: [UInt32] = []
        /// Those whose rows may have to change: not present, or of another size.
        var changing: [(position: UInt32, found: ObjectCursor.Found)] = []
    }

    private func lookUp(_ references: References) throws(StoreError) -> KnownReferences {
        var result = KnownReferences()
        var known: [Int64] = []
        var objects = try ObjectCursor(self)
        defer { objects.end() }
        for position in 0..<references.count {
            let reference = references[position]
            guard let found = try objects.find(reference.address) else {
                result.missing.append(UInt32(position))
                continue
            }
            known.append(found.id)
            if found.state != .present || found.byteCount != reference.byteCount {
                result.changing.append((UInt32(position), found))
            }
        }
        result.known = EdgeRuns(known)
        return result
    }

    /// The fingerprint of an object that the writer, but not the index, knows as present; `nil` if it is not there.
    private static func fingerprint(
        _ known: WriterKnowledge?, _ reference: Reference,
        _ isThere: (ObjectID) throws(StoreError) -> Bool
    ) throws(StoreError) -> Fingerprint? {
        guard let known else { return nil }
        if known.hasMadeSure { return known.fingerprint }
        return try isThere(reference.address) ? known.fingerprint : nil
    }

    private static func contradiction(
        _ version: String, _ reference: Reference, _ byteCount: Int64
    ) -> StoreError {
        StoreError(
            .mismatch,
            "version \(version) says that object \(reference.address) has "
                + "\(reference.byteCount) bytes; it has \(byteCount)", object: reference.address)
    }

    private func insertRow(
        _ registration: Registration, id: Int64, _ edges: EdgeRuns, isComplete: Bool
    ) throws(StoreError) {
        let unique = try bytesKeptBy(id, edges)
        try statement(
            """
            INSERT INTO version (id, name, manifest, content, files, bytes, unique_bytes,
              complete, created_at, ordinal, edges, tally, recovered)
              VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
            """
        )
        .bind(1, id).bind(2, registration.name)
        .bind(3, registration.manifest).bind(4, registration.content)
        .bind(5, registration.fileCount).bind(6, registration.byteCount)
        .bind(7, unique).bind(8, isComplete && registration.recovery != .partial ? 1 : 0)
        .bind(9, registration.createdAt).bind(10, registration.ordinal)
        .bind(11, edges.encoded).bind(12, edges.tally)
        .bind(13, registration.recovery.rawValue).run()
        try tally(edges, by: 1)
    }

    /// Removes a version row and its counts.
    /// - Throws: `.index` if its edges are not those that were counted: other versions' objects would become garbage.
    func removeVersion(id: Int64) throws(StoreError) {
        let edges = try edges(of: id)
        let tally = try statement("SELECT tally FROM version WHERE id = ?").bind(1, id)
            .firstInteger()
        guard (tally ?? 0) == edges.tally else { throw EdgeRuns.damage }
        try self.tally(edges, by: -1)
        try statement("DELETE FROM version WHERE id = ?").bind(1, id).run()
        try count(edges, by: -1, version: id)
    }

    /// Adds `change` to the counts of the objects, and moves their bytes between the versions that alone keep them.
    private func count(_ edges: EdgeRuns, by change: Int64, version: Int64) throws(StoreError) {
        // An object loses its sole keeper when a reference is added, and gains one when one is removed.
        if change > 0 { try shiftUniqueBytes(of: edges, by: -1) }
        let update = try statement(
            "UPDATE object SET refs = refs + ?1, keepers = keepers + ?2 "
                + "WHERE id BETWEEN ?3 AND ?4")
        update.bind(1, change).bind(2, change * version)
        for run in edges.runs {
            try update.bind(3, run.lowerBound).bind(4, run.upperBound).run()
        }
        if change < 0 { try shiftUniqueBytes(of: edges, by: 1) }
    }

    private func shiftUniqueBytes(of edges: EdgeRuns, by sign: Int64) throws(StoreError) {
        var shifts: [Int64: Int64] = [:]
        let sums = try statement(
            "SELECT keepers, sum(bytes) FROM object WHERE id BETWEEN ? AND ? AND refs = 1 "
                + "AND state = 1 GROUP BY keepers")
        try sums.forEachRow(in: edges) { shifts[$0.integer(0), default: 0] += $0.integer(1) }
        let update = try statement(
            "UPDATE version SET unique_bytes = unique_bytes + ? WHERE id = ?")
        for (keeper, bytes) in shifts {
            try update.bind(1, sign * bytes).bind(2, keeper).run()
        }
    }

    private func bytesKeptBy(_ version: Int64, _ edges: EdgeRuns) throws(StoreError) -> Int64 {
        var total: Int64 = 0
        let sum = try statement(
            "SELECT total(bytes) FROM object WHERE id BETWEEN ? AND ? AND refs = 1 "
                + "AND state = 1 AND keepers = ?")
        sum.bind(3, version)
        try sum.forEachRow(in: edges) { total += $0.integer(0) }
        return total
    }

    func edges(of version: Int64) throws(StoreError) -> EdgeRuns {
        guard let found = try withEdges(of: version, { EdgeRuns($0) }) else { return EdgeRuns([]) }
        guard let found else { throw EdgeRuns.damage }
        return found
    }

    /// Calls `body` with the stored form of what a version names; `nil` if there is no such version.
    func withEdges<R>(
        of version: Int64, _ body: (UnsafeRawBufferPointer) -> R
    ) throws(StoreError) -> R? {
        try statement("SELECT edges FROM version WHERE id = ?").bind(1, version)
            .first { $0.withBlob(0, body) }
    }

    func setState(_ state: ObjectState, of id: Int64) throws(StoreError) {
        try statement("UPDATE object SET state = ? WHERE id = ?")
            .bind(1, state.rawValue).bind(2, id).run()
    }

    private func nextVersionID() throws(StoreError) -> Int64 {
        try statement("SELECT coalesce(max(id), 0) + 1 FROM version").firstInteger() ?? 1
    }
}
