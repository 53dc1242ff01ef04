/// What to read of a file, and when.
package struct ReadRequest: Sendable, Hashable {
    /// The wanted bytes, whose end may be beyond the file's; `nil` for all.
    package var range: Range<Int64>?
    /// Nothing is read if the file has this tag (`If-None-Match`).
    package var unlessTag: EntityTag?
    /// More bytes than this are an error, and none beyond are passed on.
    package var byteCountMax: Int64

    package init(range: Range<Int64>? = nil, unlessTag: EntityTag? = nil, byteCountMax: Int64) {
        self.range = range
        self.unlessTag = unlessTag
        self.byteCountMax = byteCountMax
    }
}

package enum ReadOutcome: Sendable, Hashable {
    /// Its bytes have been passed on.
    case found(StoredFile)
    case notModified
    case missing
    /// The range begins at or after the file's end.
    case beyondEnd
}

package struct StoredFile: Sendable, Hashable {
    /// The size of the whole file, even if a range was read.
    package var byteCount: Int64
    package var tag: EntityTag
    /// When it was written, by the server's clock: seconds since 1970 (`Last-Modified`).
    package var modifiedAt: Int64
    /// When the server answered, by the same clock (`Date`).
    package var answeredAt: Int64

    package init(byteCount: Int64, tag: EntityTag, modifiedAt: Int64, answeredAt: Int64) {
        self.byteCount = byteCount
        self.tag = tag
        self.modifiedAt = modifiedAt
        self.answeredAt = answeredAt
    }
}

package struct ListRequest: Sendable, Hashable {
    /// How the keys begin; not necessarily up to a slash.
    package var prefix: String
    /// Only keys after this one, which need not exist.
    package var startAfter: String?
    /// The ``ListPage/next`` of the page before.
    package var token: String?
    /// The most keys of one page, 1 to 1,000.
    package var countMax: Int

    package init(prefix: String, startAfter: String? = nil, countMax: Int = 1_000) {
        self.prefix = prefix
        self.startAfter = startAfter
        self.countMax = countMax
    }
}

package struct ListPage: Sendable, Hashable {
    /// The keys, relative to the bucket's prefix, in the order of their bytes.
    package var files: [ListedFile]
    /// The token for the next page; `nil` if there is none.
    package var next: String?
    /// When the server answered: seconds since 1970, by its clock.
    package var answeredAt: Int64

    package init(files: [ListedFile], next: String?, answeredAt: Int64) {
        self.files = files
        self.next = next
        self.answeredAt = answeredAt
    }
}

package struct ListedFile: Sendable, Hashable {
    /// Relative to the bucket's prefix.
    package var key: String
    package var byteCount: Int64
    package var tag: EntityTag
    /// When it was written: seconds since 1970, by the server's clock.
    package var modifiedAt: Int64

    package init(key: String, byteCount: Int64, tag: EntityTag, modifiedAt: Int64) {
        self.key = key
        self.byteCount = byteCount
        self.tag = tag
        self.modifiedAt = modifiedAt
    }
}

/// An upload in parts, whose bytes are invisible and cost money until it ends.
package struct OpenUpload: Sendable, Hashable {
    /// Relative to the bucket's prefix.
    package var key: String
    /// The store's name for the upload.
    package var name: String
    /// When it was begun: seconds since 1970, by the server's clock.
    package var begunAt: Int64

    package init(key: String, name: String, begunAt: Int64) {
        self.key = key
        self.name = name
        self.begunAt = begunAt
    }
}

/// Uploads that are under way or abandoned.
package struct OpenUploads: Sendable, Hashable {
    /// In no particular order.
    package var uploads: [OpenUpload]
    /// When the server answered: seconds since 1970, by its clock.
    package var answeredAt: Int64

    package init(_ uploads: [OpenUpload], answeredAt: Int64) {
        self.uploads = uploads
        self.answeredAt = answeredAt
    }
}

package struct DeleteOutcome: Sendable {
    package var deletedCount = 0
    /// Keys that the store refused to delete, each with its code (`AccessDenied`).
    package var refused: [(key: String, code: String)] = []
    /// How many may be deleted at any later time, because no answer came.
    package var unknownCount = 0

    package init() {}
}

/// A file's entity tag: equal tags of one key mean equal bytes.
///
/// For a file written in one piece it is usually, but not certainly, the MD5 of its bytes.
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
    /// Without quotes.
    package let bare: String

    package init(_ text: String) {
        let isQuoted = text.utf8.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        bare = isQuoted ? String(text.dropFirst().dropLast()) : text
    }

    /// As RFC 9110, section 8.8.3, spells it.
    package var quoted: String { "\"\(bare)\"" }

    package var description: String { quoted }

    package func spelled(_ spelling: TagSpelling) -> String {
        switch spelling {
        case .quoted: quoted
        case .bare: bare
        }
    }
}

/// How a store wants the tag in `If-Match`; some accept only the non-standard spelling.
package enum TagSpelling: String, Sendable, Hashable, CaseIterable {
    /// As the standard has it.
    case quoted
    /// Without quotes (Ceph RGW 16 answers 412 to the other).
    case bare
}
