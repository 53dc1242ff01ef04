import CASStore
import VersionTree

/// An origin's answer, kept in `pointers/<64 digits>`, named by the SHA-256 of a key; derived data, and not synced.
struct KeptAnswer {
    /// With one more file, all are deleted.
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

    private func read(limit: Int) throws(StoreError) -> [UInt8]? {
        try unlessInterrupted { () throws(StoreError) in
            try versions.fileSystem.ifPresent { () throws(StoreError) in
                try versions.fileSystem.contents(root, path, limit: limit)
            }
        } ?? nil
    }

    private func write(_ bytes: [UInt8]) {
        guard isChanging else { return }
        // A lost answer only makes the next request dearer; a full or read-only disk must not stop a pull.
        try? replace(with: bytes)
    }

    func forget() {
        guard isChanging else { return }
        // A leftover is tried, found wrong and deleted next time.
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

// The format detected at an origin, tried first next time: one request instead of one per format. The file is
// `castree-format 1 meteor` and a line end. castree's own format is always tried first.

extension KeptAnswer {
    private static let formatHead = "castree-format 1 "

    init(
        formatOf origin: OriginLocation, _ versions: VersionStore, isChanging: Bool
    ) throws(StoreError) {
        // A channel's key has a space, and a URL has none.
        try self.init(versions, origin.description, isChanging: isChanging)
    }

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

// The last pointer of each channel with its entity tag, so that an unchanged one costs a few bytes (RFC 9110, section
// 13.1.2). The file is `castree-pointer 1 <XXH3-128>`, a line end, the tag, a space, when it came in seconds since
// 1970, a line end, the pointer's bytes. A torn or damaged one is requested without a condition. Kept pointers are
// judged anew each time, as if they had just arrived.

extension KeptAnswer {
    struct Pointer: Equatable {
        var tag: String
        var bytes: [UInt8]
        /// Seconds since 1970.
        var cameAt: Int64

        /// Bounds how long a device misses a new pointer if a cache has stored an old one under the new one's tag.
        func isStale(_ now: Int64) -> Bool { !(0..<3600 ~= now - cameAt) }
    }

    init(
        pointerOf channel: ChannelName, at origin: OriginLocation, _ versions: VersionStore,
        isChanging: Bool
    ) throws(StoreError) {
        try self.init(versions, "\(origin.description) \(channel)", isChanging: isChanging)
    }

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
    static let tagByteCountMax = 512

    /// Nil if the tag may not be unique: many servers derive it from a file's size and its time in whole seconds, so
    /// within two seconds another file may have the same tag (RFC 9110, section 8.8.2.2).
    var tag: String? {
        guard let tag = self["etag"], Self.isTag(tag) else { return nil }
        return self["last-modified"] == nil || secondsSinceChange ?? 0 > 2 ? tag : nil
    }

    /// One ASCII `entity-tag` of RFC 9110, section 8.8.3; neither `*` nor a list, which would match anything.
    private static func isTag(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: [87, 47]) { bytes = bytes.dropFirst(2) }
        guard 2...tagByteCountMax ~= bytes.count, bytes.first == 34, bytes.last == 34 else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { 33...126 ~= $0 && $0 != 34 }
    }
}
