package import Platform
import Synchronization

struct KeptDocument: Sendable, Hashable {
    /// The tag in the storage below; `nil` if a process ended before it was noted.
    var tag: EntityTag?
    var digest: ObjectID
    var byteCount: Int64
}

package enum DocumentNews: Sendable {
    /// As kept, or missing as before.
    case same
    case gone
    case changed([UInt8], EntityTag)
}

// The files that change, whose owner decides which of their bytes are kept, and when.
extension CachedStorage {
    package var documents: [String] { state.withLock { Array($0.documents.keys) } }

    /// The SHA-256 of a document; `nil` if it is not kept.
    package func digest(of key: String) -> ObjectID? {
        state.withLock { $0.documents[key]?.digest }
    }

    /// `nil` if the document is not kept.
    package func kept(_ key: String, limit: some BinaryInteger) throws(StoreError) -> [UInt8]? {
        try copies.contents(key, limit: limit)
    }

    /// Asks the storage below for a document, whose bytes are sent only if they differ from those kept.
    package func news(of key: String, limit: Int) throws(StoreError) -> DocumentNews {
        let known = state.withLock { $0.documents[key] }
        let request = ReadRequest(unlessTag: known?.tag, byteCountMax: Int64(limit))
        let read = try negatives.asking(for: key) { () throws(StoreError) in
            try base.bytes(key, request)
        }
        switch read.outcome {
        case .notModified: return .same
        case .missing, .beyondEnd: return known == nil ? .same : .gone
        case .found(let file):
            guard var known, try StorageBody(read.bytes).address == known.digest else {
                return .changed(read.bytes, file.tag)
            }
            known.tag = file.tag
            note(key, known)
            return .same
        }
    }

    /// Replaces the kept bytes of a document atomically.
    package func keep(_ key: String, _ bytes: [UInt8], _ tag: EntityTag) throws(StoreError) {
        let body = try StorageBody(bytes)
        _ = try changing { () throws(StoreError) in try copies.put(key, body, .pointer) }
        note(key, KeptDocument(tag: tag, digest: body.address, byteCount: body.byteCount))
    }

    package func forget(_ key: String) throws(StoreError) {
        try changing { () throws(StoreError) in try copies.remove(key) }
        note(key, nil)
    }

    private func note(_ key: String, _ document: KeptDocument?) {
        state.withLock { state in
            let before = state.documents[key]
            guard before != document else { return }
            state.documents[key] = document
            state.copies.space += (document?.byteCount ?? 0) - (before?.byteCount ?? 0)
        }
    }

    // MARK: From one process to the next

    private static let tags = "tags"

    /// Adopts a document that an earlier process has left, if it matches the notes; any other is fetched whole.
    func takeOver(_ key: String, _ noted: [Substring]?) {
        // An incomplete one is fetched again.
        guard let bytes = try? copies.contents(key, limit: 64 << 20),
            let body = try? StorageBody(bytes)
        else { return }
        let isSame = noted?.first.map(String.init) == body.address.description
        let tag = isSame ? noted?.last.map { EntityTag(String($0)) } : nil
        note(key, KeptDocument(tag: tag, digest: body.address, byteCount: body.byteCount))
    }

    func notedTags() -> [String: [Substring]] {
        // Derived: without it, everything is fetched once more.
        let bytes = try? copies.fileSystem.contents(
            copies.directory, "\(copies.scratch)/\(Self.tags)", limit: 16 << 20)
        let lines = String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n")
        let rows = lines.map { $0.split(separator: "\t") }.filter { $0.count == 3 }
        return Dictionary(rows.map { (String($0[1]), $0) }) { _, last in last }
    }

    /// Notes changed tags for the next start, to save some bytes then.
    package func noteTags() throws(StoreError) {
        let documents = state.withLock { $0.documents }
        guard documents != state.withLock({ $0.noted }) else { return }
        var text = ""
        for (key, document) in documents.sorted(by: { $0.key < $1.key }) {
            guard let tag = document.tag else { continue }
            text += "\(document.digest)\t\(key)\t\(tag.bare)\n"
        }
        try changing { () throws(StoreError) in
            guard let work = try copies.work?.open() else { return }
            try copies.fileSystem.replaceFile(
                work.raw, Self.tags, with: Array(text.utf8), token: "new", durably: false)
        }
        state.withLock { $0.noted = documents }
    }
}
