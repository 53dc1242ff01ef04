/// What is to be read of a file, and when.
package struct ReadRequest: Sendable, Hashable {
    /// The bytes that are wanted; nil for all.
    ///
    /// Its end may lie beyond the file's.
    package var range: Range<Int64>?
    /// Nothing is read if the file has this tag (`If-None-Match`).
    package var unlessTag: EntityTag?
    /// More bytes than this are an error, and none beyond are passed on.
    package var byteCountMax: Int64

    /// Asks for a whole file, or a range of it.
    package init(
        range: Range<Int64>? = nil, unlessTag: EntityTag? = nil, byteCountMax: Int64
    ) {
        self.range = range
        self.unlessTag = unlessTag
        self.byteCountMax = byteCountMax
    }
}

/// How a read ended.
package enum ReadOutcome: Sendable, Hashable {
    /// Its bytes have been passed on.
    case found(StoredFile)
    /// It has the tag that was named.
    case notModified
    /// There is no such key.
    case missing
    /// The range begins at or after the file's end.
    case beyondEnd
}

/// What a store says of a file.
package struct StoredFile: Sendable, Hashable {
    /// The size of the whole file, even if a range was read.
    package var byteCount: Int64
    /// Its tag.
    package var tag: EntityTag
    /// When it was written, by the server's clock: seconds since 1970 (`Last-Modified`).
    package var modifiedAt: Int64
    /// When the server answered, by the same clock (`Date`).
    package var answeredAt: Int64

    /// Makes a description.
    package init(byteCount: Int64, tag: EntityTag, modifiedAt: Int64, answeredAt: Int64) {
        self.byteCount = byteCount
        self.tag = tag
        self.modifiedAt = modifiedAt
        self.answeredAt = answeredAt
    }
}

/// What is to be listed.
package struct ListRequest: Sendable, Hashable {
    /// How the keys begin; not necessarily up to a slash.
    package var prefix: String
    /// Only keys after this one, which need not be there.
    package var startAfter: String?
    /// Where the page before ended: its ``ListPage/next``.
    package var token: String?
    /// The most keys of one page, 1 to 1,000.
    package var countMax: Int

    /// Asks for the first page.
    package init(prefix: String, startAfter: String? = nil, countMax: Int = 1_000) {
        self.prefix = prefix
        self.startAfter = startAfter
        self.countMax = countMax
    }
}

/// A page of a listing.
package struct ListPage: Sendable, Hashable {
    /// The keys, relative to the bucket's prefix, in the order of their bytes.
    package var files: [ListedFile]
    /// What asks for the page after this one; nil if there is none.
    package var next: String?
    /// When the server answered: seconds since 1970, by its clock.
    package var answeredAt: Int64

    /// Makes a page.
    package init(files: [ListedFile], next: String?, answeredAt: Int64) {
        self.files = files
        self.next = next
        self.answeredAt = answeredAt
    }
}

/// A line of a listing.
package struct ListedFile: Sendable, Hashable {
    /// Relative to the bucket's prefix.
    package var key: String
    /// Its size.
    package var byteCount: Int64
    /// Its tag.
    package var tag: EntityTag
    /// When it was written: seconds since 1970, by the server's clock.
    package var modifiedAt: Int64

    /// Makes a line.
    package init(key: String, byteCount: Int64, tag: EntityTag, modifiedAt: Int64) {
        self.key = key
        self.byteCount = byteCount
        self.tag = tag
        self.modifiedAt = modifiedAt
    }
}

/// An upload in parts: nobody sees its bytes, and they are paid for, until it ends.
package struct OpenUpload: Sendable, Hashable {
    /// Where the file will stand, relative to the bucket's prefix.
    package var key: String
    /// What the store calls the upload.
    package var name: String
    /// When it was begun: seconds since 1970, by the server's clock.
    package var begunAt: Int64

    /// Makes a description.
    package init(key: String, name: String, begunAt: Int64) {
        self.key = key
        self.name = name
        self.begunAt = begunAt
    }
}

/// Uploads that are under way, or that somebody has left.
package struct OpenUploads: Sendable, Hashable {
    /// In no particular order.
    package var uploads: [OpenUpload]
    /// When the server answered: seconds since 1970, by its clock.
    package var answeredAt: Int64

    /// Makes a list.
    package init(_ uploads: [OpenUpload], answeredAt: Int64) {
        self.uploads = uploads
        self.answeredAt = answeredAt
    }
}

/// How a deletion ended.
package struct DeleteOutcome: Sendable {
    /// How many the store says are gone.
    package var deletedCount = 0
    /// Keys that it refused to delete, and its code (`AccessDenied`).
    package var refused: [(key: String, code: String)] = []
    /// How many nobody knows about, since no answer came: they may go at any later time.
    package var unknownCount = 0

    /// Nothing done.
    package init() {}
}
