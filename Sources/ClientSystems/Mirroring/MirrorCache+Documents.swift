import HotPush
import Platform
import Storage
import StrictJSON
import Synchronization

/// What is known of a copy of a file that changes.
struct KeptDocument: Sendable, Hashable {
    /// The bucket's tag of the bytes; `nil` if a process ended before it was noted.
    var tag: EntityTag?
    /// Their SHA-256.
    var digest: ObjectID
    var byteCount: Int64
}

/// What a bucket says of a file that changes.
enum DocumentNews: Sendable {
    /// What is kept of it, or nothing as before.
    case same
    /// It is there no more.
    case gone
    case changed([UInt8], EntityTag)
}

// The files that change: their owner decides which of their bytes are kept, and when.
extension MirrorCache {
    private static let tags = "tags.json"
    private static let tagsVersion: Int64 = 1

    /// The paths of the documents that are kept.
    var documents: [String] { state.withLock { Array($0.documents.keys) } }

    /// The SHA-256 of a document that is kept; `nil` if none is.
    func digest(of path: String) -> ObjectID? {
        state.withLock { $0.documents[path]?.digest }
    }

    /// The bytes of a file of the cache; `nil` if there is none.
    func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        let read = try copies.bytes(path, ReadRequest(byteCountMax: Int64(limit)))
        if case .found = read.outcome { return read.bytes }
        return nil
    }

    /// The bytes of a document that never changes and is here.
    func document(_ name: OriginKey) throws(StoreError) -> [UInt8] {
        // Fetched by the next look, if it has been lost.
        guard let bytes = try contents(name.path, limit: Int(name.byteCountMax)) else {
            throw StoreError(
                .missingFromBucket, "\(name.path) is not in \(printable(directory.path))")
        }
        return bytes
    }

    /// What the bucket says of a document: no bytes come if they are those that are kept.
    func news(of path: String, limit: Int) throws(StoreError) -> DocumentNews {
        let known = state.withLock { $0.documents[path] }
        let request = ReadRequest(unlessTag: known?.tag, byteCountMax: Int64(limit))
        let read = try bucket.bytes(path, request)
        switch read.outcome {
        case .notModified: return .same
        case .missing, .beyondEnd: return known == nil ? .same : .gone
        case .found(let file):
            guard let known, try ObjectID(of: read.bytes) == known.digest else {
                return .changed(read.bytes, file.tag)
            }
            note(
                path, KeptDocument(tag: file.tag, digest: known.digest, byteCount: known.byteCount))
            return .same
        }
    }

    /// Keeps the bytes of a document in place of those before, in one step.
    func keep(
        _ path: String, _ bytes: [UInt8], _ tag: EntityTag
    ) throws(StoreError) {
        let body = try StorageBody(bytes)
        _ = try changing { () throws(StoreError) in try copies.put(path, body, .pointer) }
        note(path, KeptDocument(tag: tag, digest: body.address, byteCount: body.byteCount))
    }

    /// Removes a document.
    func forget(_ path: String) throws(StoreError) {
        try changing { () throws(StoreError) in try copies.remove(path) }
        note(path, nil)
    }

    private func note(_ path: String, _ document: KeptDocument?) {
        state.withLock { state in
            let before = state.documents[path]
            guard before != document else { return }
            state.documents[path] = document
            state.index.besides += (document?.byteCount ?? 0) - (before?.byteCount ?? 0)
            state.areTagsNoted = false
        }
    }

    // MARK: From one process to the next

    /// Believes of what an earlier process has left what that has noted of it.
    func takeOver(_ file: ListedFile, _ noted: KeptDocument?) throws(StoreError) {
        // What cannot be read whole is fetched anew.
        guard let bytes = try? contents(file.key, limit: 64 << 20) else { return }
        let body = try StorageBody(bytes)
        var document = KeptDocument(tag: nil, digest: body.address, byteCount: body.byteCount)
        if noted?.digest == body.address { document.tag = noted?.tag }
        // One that came just before a kill is whole; one that a power cut has torn is no JSON.
        if document.tag != nil || (try? JSONValue.parse(bytes)) != nil {
            note(file.key, document)
        } else if noted != nil {
            try copies.remove(file.key)
        }
    }

    /// What was noted of the documents, by their paths; nothing if that cannot be read.
    func notedTags() -> [String: KeptDocument] {
        // Derived: without it all is fetched once more.
        let bytes = try? directory.fileSystem.contents(
            directory.work.raw, Self.tags, limit: 16 << 20)
        let document = bytes.flatMap { try? JSONValue.parse($0) }
        var tags: [String: KeptDocument] = [:]
        for member in document?["files"]?.asObject ?? [] {
            guard let tag = member.value["tag"]?.asString,
                let digest = member.value["sha256"]?.asString.flatMap({ ObjectID($0) })
            else { continue }
            tags[member.key] = KeptDocument(tag: EntityTag(tag), digest: digest, byteCount: 0)
        }
        return tags
    }

    /// Notes the tags for the next start, if they have changed.
    func noteTags() throws(StoreError) {
        let documents = state.withLock { state -> [String: KeptDocument]? in
            defer { state.areTagsNoted = true }
            return state.areTagsNoted ? nil : state.documents
        }
        guard let documents else { return }
        let text = JSONWriter.document { writer in
            writer.member("castreeTags", Self.tagsVersion)
            writer.member("files") { writer in
                for (path, document) in documents.sorted(by: { $0.key < $1.key }) {
                    guard let tag = document.tag else { continue }
                    writer.member(path) { writer in
                        writer.member("tag", tag.bare)
                        writer.member("sha256", document.digest.description)
                    }
                }
            }
        }
        do throws(StoreError) {
            try changing { () throws(StoreError) in
                try directory.fileSystem.replaceFile(
                    directory.work.raw, Self.tags, with: text + [10], token: "new", durably: false)
            }
        } catch {
            // They save some bytes at the next start.
            state.withLock { $0.areTagsNoted = false }
            throw error
        }
    }
}
