import CASStore
import Storage
import VersionTree

/// Reads the documents of a release for a check: what is wrong becomes a finding.
///
/// A repair puts it right at once, so that what the document names is checked, too.
final class AuditedDocuments {
    private let audit: OriginAudit
    private let release: LiveRelease
    private let survey: OriginSurvey
    /// Whether a document could not be read: that is a finding.
    var hasFailed = false

    init(_ audit: OriginAudit, _ release: LiveRelease, _ survey: OriginSurvey) {
        self.audit = audit
        self.release = release
        self.survey = survey
    }

    /// The bytes of a document.
    /// - Throws: `.damagedOrigin` after the finding is noted; what reading throws.
    func read(_ key: OriginKey) throws(StoreError) -> [UInt8] {
        var kind = OriginFinding.Kind.damagedFile
        do throws(StoreError) {
            if let bytes = try audit.storage.contents(key.path, limit: key.byteCountMax) {
                if try ObjectID(of: bytes) == key.address {
                    audit.report.read.add(Int64(bytes.count))
                    return bytes
                }
            } else {
                kind = .missingFile
            }
        } catch {
            guard error.code == .tooLarge else { throw error }
        }
        let unread = StoreError.damagedOrigin(
            "\(key.path) cannot be read")
        // Two releases may have the same document.
        if audit.lost.values.contains(key) {
            hasFailed = true
            throw unread
        }
        let place = audit.report.findings.count
        audit.note(kind, key, release.version.name.description)
        var bytes: [UInt8]?
        try audit.mend(place) { () throws(StoreError) in
            bytes = try spare(key)
            return try bytes.map { (bytes) throws(StoreError) in
                let body = StorageBody(bytes, address: key.address)
                return try audit.storage.put(key.path, body, .document).isStored
            } ?? false
        }
        guard let bytes else {
            hasFailed = true
            throw unread
        }
        // Also if it could not be written: what it names can be.
        audit.lost[place] = nil
        audit.mended.insert(key)
        return bytes
    }

    /// The bytes of a document from elsewhere, if this is a repair.
    private func spare(_ key: OriginKey) throws(StoreError) -> [UInt8]? {
        guard let mender = audit.mender else { return nil }
        var bytes: [UInt8]?
        switch key.kind {
        case .manifest: bytes = try mender.manifest(release.version)
        case .places: bytes = try places()
        case .object, .pack, .delivery, .twin, .facts, .document, .delta: break
        }
        if bytes == nil, let size = size(of: key) {
            try mender.fetch([(key, size)])
            bytes = try mender.bytes(of: key)
        }
        // A copy of the origin has also what nobody knows the size of.
        if bytes == nil { bytes = try mender.reading(key.path, Int(key.byteCountMax)) }
        guard let bytes, try ObjectID(of: bytes) == key.address else { return nil }
        return bytes
    }

    private func size(of key: OriginKey) -> Int64? {
        switch key.kind {
        case .manifest: release.version.manifestByteCount
        case .delivery: release.delivery?.byteCount
        case .object, .pack, .places, .twin, .facts, .document, .delta: nil
        }
    }

    /// The places made again from where the objects stand: as they were, if the bytes have that name.
    private func places() throws(StoreError) -> [UInt8]? {
        var epochs: [ObjectID: [Int64]] = [:]
        let addresses = try ReleaseFiles(release, audit.storage, nil).manifest().references
            .map(\.address)
        let needed = Set(addresses)
        for position in survey.table.positions {
            let key = survey.table[position].key
            guard key.kind == .object, key.epoch <= release.version.epoch,
                needed.contains(key.address)
            else { continue }
            epochs[key.address, default: []].append(key.epoch)
        }
        let wanted = release.version.places
        // Of an object in several epochs, releases before the last prune have the older one.
        for isNewest in [true, false] {
            let chosen = addresses.compactMap { address in
                isNewest ? epochs[address]?.max() : epochs[address]?.min()
            }
            guard chosen.count == addresses.count else { return nil }
            let bytes = Places(chosen).serialized()
            if try ObjectID(of: bytes) == wanted { return bytes }
        }
        return nil
    }
}
