import CASStore
import Storage
import VersionTree

// The documents of releases, which name all other files.
extension OriginAudit {
    /// The bytes of a document: what is wrong becomes a finding.
    ///
    /// A repair puts it right at once, so that what the document names is checked, too.
    /// - Throws: `.damagedOrigin` for one that cannot be read, after the finding is noted; what reading throws.
    func document(
        _ key: OriginKey, of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8] {
        var kind = OriginFinding.Kind.damagedFile
        do throws(StoreError) {
            if let bytes = try storage.contents(key.path, limit: key.byteCountMax) {
                if try ObjectID(of: bytes) == key.address {
                    report.read.add(Int64(bytes.count))
                    return bytes
                }
            } else {
                kind = .missingFile
            }
        } catch {
            guard error.code == .tooLarge else { throw error }
        }
        var bytes: [UInt8]?
        // Two releases may have the same document.
        if !lost.contains(key) {
            let place = report.findings.count
            note(kind, key, release.version.name.description)
            try mend(place) { () throws(StoreError) in
                bytes = try spare(key, of: release, survey)
                return try bytes.map { (bytes) throws(StoreError) in
                    let body = StorageBody(bytes, address: key.address)
                    return try storage.put(key.path, body, .document).isStored
                } ?? false
            }
            // Also if it could not be written: what it names can be.
            if bytes != nil {
                report.findings[place].lost = nil
                mended.insert(key)
            }
        }
        if let bytes { return bytes }
        unread = key
        throw .damagedOrigin("\(key.path) cannot be read")
    }

    /// The bytes of a document from elsewhere, if this is a repair.
    private func spare(
        _ key: OriginKey, of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8]? {
        guard let mender else { return nil }
        var (bytes, size): ([UInt8]?, Int64?)
        switch key.kind {
        case .manifest:
            bytes = try mender.manifest(release.version)
            size = release.version.manifestByteCount
        case .places: bytes = try places(of: release, survey)
        case .delivery: size = release.delivery?.byteCount
        case .object, .pack, .twin, .facts, .document, .delta: break
        }
        if bytes == nil, let size {
            try mender.fetch([(key, size)])
            bytes = try mender.bytes(of: key)
        }
        // A copy of the origin has also what nobody knows the size of.
        if bytes == nil { bytes = try mender.reading(key.path, Int(key.byteCountMax)) }
        guard let bytes, try ObjectID(of: bytes) == key.address else { return nil }
        return bytes
    }

    /// The places made again from where the objects stand: as they were, if the bytes have that name.
    private func places(
        of release: LiveRelease, _ survey: OriginSurvey
    ) throws(StoreError) -> [UInt8]? {
        var epochs: [ObjectID: [Int64]] = [:]
        let addresses = try ReleaseFiles(release, storage, nil).manifest().references
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
