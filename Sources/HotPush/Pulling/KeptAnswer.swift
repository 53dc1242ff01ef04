import CASStore
import VersionTree

/// What an origin has answered, for the next time: a small file of a store, `pointers/<64 digits>`, by the SHA-256 of a
/// key.
///
/// Derived, and not synced: whatever is wrong with one, the origin is asked again.
struct KeptAnswer {
    /// The most files: one more, and all are forgotten.
    static let countMax = 64

    private let versions: VersionStore
    private let name: String
    private let isChanging: Bool

    private init(_ versions: VersionStore, _ key: String, isChanging: Bool) throws(StoreError) {
        self.versions = versions
        self.isChanging = isChanging
        name = try ObjectID(of: Array(key.utf8)).description
    }

    private var path: String { "\(StoreLayout.pointers)/\(name)" }
    private var root: Int32 { versions.directories.root.raw }

    /// Its bytes; nil if there is none, or it cannot be read.
    /// - Throws: `.interrupted`.
    private func read(limit: Int) throws(StoreError) -> [UInt8]? {
        try ifPossible { () throws(StoreError) in
            try versions.fileSystem.ifPresent { () throws(StoreError) in
                try versions.fileSystem.contents(root, path, limit: limit)
            }
        } ?? nil
    }

    private func write(_ bytes: [UInt8]) {
        guard isChanging else { return }
        // Without them the next answer costs more: neither a full disk nor a read-only one may stop a pull.
        try? replace(with: bytes)
    }

    /// Forgets what was kept: the origin does not answer so any more.
    func forget() {
        guard isChanging else { return }
        // As above: what stays is tried, found wrong and forgotten the next time.
        try? versions.fileSystem.removeIfPresent(root, path)
    }

    private func replace(with bytes: [UInt8]) throws(StoreError) {
        let fileSystem = versions.fileSystem
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.pointers)
        let directory = try fileSystem.open(root, StoreLayout.pointers, .directory, mode: 0)
        let names = try fileSystem.names(in: directory.raw)
        if names.count >= Self.countMax, !names.contains(name) {
            for old in names { try fileSystem.removeIfPresent(directory.raw, old) }
        }
        try fileSystem.replaceFile(
            directory.raw, name, with: bytes, mode: 0o600, token: try randomToken(),
            durably: false)
    }
}

// In which format an origin was found to describe its releases, where nobody says it: the next time it is asked for
// that first, with one request in place of one for each format. `castree-format 1 meteor` and a line end; castree's own
// format is asked for first anyhow.

extension KeptAnswer {
    private static let formatHead = "castree-format 1 "

    init(
        formatOf origin: OriginLocation, _ versions: VersionStore, isChanging: Bool
    ) throws(StoreError) {
        // A channel's pointer has a space in its key, and a URL has none.
        try self.init(versions, origin.description, isChanging: isChanging)
    }

    /// The format that was kept; nil if none is known.
    func format() throws(StoreError) -> (any ReleaseFormat)? {
        guard let bytes = try read(limit: 64),
            let text = String(validating: bytes, as: UTF8.self), text.hasPrefix(Self.formatHead),
            text.hasSuffix("\n")
        else { return nil }
        let format = ReleaseFormats.named(String(text.dropFirst(Self.formatHead.count).dropLast()))
        return format is CastreeFormat ? nil : format
    }

    func keep(_ format: any ReleaseFormat) {
        write(Array("\(Self.formatHead)\(format.name)\n".utf8))
    }
}

// The last pointer of each channel, with the entity tag that its server gave it: a server that has no newer one says so
// in a few bytes (RFC 9110, section 13.1.2). `castree-pointer 1 <XXH3-128>`, a line end, the tag, a space, when it came
// in seconds since 1970, a line end, the pointer's bytes. What is missing, torn or damaged is asked for without a
// condition. What is kept is judged anew each time, like one that has just come.

extension KeptAnswer {
    /// A pointer that came with a tag.
    struct Pointer: Equatable {
        var tag: String
        var bytes: [UInt8]
        /// Seconds since 1970.
        var cameAt: Int64

        /// Whether it is so old, or from the future, that it is asked for without a condition: where a cache has put an old
        /// pointer under a new one's tag, the device does not miss the new one for longer.
        func isStale(_ now: Int64) -> Bool { !(0..<3600 ~= now - cameAt) }
    }

    init(
        pointerOf channel: ChannelName, at origin: OriginLocation, _ versions: VersionStore,
        isChanging: Bool
    ) throws(StoreError) {
        try self.init(versions, "\(origin.description) \(channel)", isChanging: isChanging)
    }

    /// The pointer that was kept; `nil` if there is none, or it cannot be trusted.
    func pointer() throws(StoreError) -> Pointer? {
        try read(limit: ChannelPointer.byteCountMax + (16 << 10)).flatMap { Self.parse($0) }
    }

    func keep(_ pointer: Pointer) { write(Self.serialized(pointer)) }

    private static func serialized(_ pointer: Pointer) -> [UInt8] {
        let body = Array("\(pointer.tag) \(pointer.cameAt)\n".utf8) + pointer.bytes
        let sum = body.withUnsafeBytes { bytes in
            Fingerprinter.fingerprint(bytes).withBytes { Hex.string(Array($0)) }
        }
        return Array("castree-pointer 1 \(sum)\n".utf8) + body
    }

    private static func parse(_ bytes: [UInt8]) -> Pointer? {
        let lines = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, let text = String(validating: lines[1], as: UTF8.self),
            let space = text.lastIndex(of: " "),
            let cameAt = Int64(text[text.index(after: space)...])
        else { return nil }
        let kept = Pointer(tag: String(text[..<space]), bytes: Array(lines[2]), cameAt: cameAt)
        return serialized(kept) == bytes ? kept : nil
    }
}

extension TransferHead {
    /// No server needs a longer tag.
    static let tagByteCountMax = 512

    /// The tag by which a server will tell the document from every other one; nil if it may not.
    ///
    /// Many servers make tags of a file's size and its time in whole seconds. Within two seconds of that time another
    /// file may have the same (RFC 9110, section 8.8.2.2).
    var tag: String? {
        guard let tag = self["etag"], Self.isTag(tag) else { return nil }
        return self["last-modified"] == nil || secondsSinceChange ?? 0 > 2 ? tag : nil
    }

    /// `entity-tag` of RFC 9110, section 8.8.3, in ASCII: one, and neither `*` nor a list, which would match anything.
    private static func isTag(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: [87, 47]) { bytes = bytes.dropFirst(2) }
        guard 2...tagByteCountMax ~= bytes.count, bytes.first == 34, bytes.last == 34 else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { 33...126 ~= $0 && $0 != 34 }
    }
}
