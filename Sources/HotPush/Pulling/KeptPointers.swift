import CASStore
import VersionTree

/// The last pointer of each channel, with the entity tag that its server gave it: a server that has no newer one
/// says so in a few bytes (RFC 9110, section 13.1.2).
///
/// `pointers/<64 digits>` in the store, by the SHA-256 of origin and channel: `castree-pointer 1 <XXH3-128>`, a line
/// end, the tag, a space, when it came in seconds since 1970, a line end, the pointer's bytes. After a day it is asked for
/// without a condition: whatever a cache has done to the tag, it does not last. Derived, and not synced: what is missing, torn or damaged is asked
/// for without a condition. What is kept is judged anew each time, like one that has just come.
struct KeptPointers {
    /// A pointer that came with a tag.
    struct Kept: Equatable {
        var tag: String
        var bytes: [UInt8]
        /// Seconds since 1970.
        var cameAt: Int64

        /// Whether it is so old, or from the future, that nobody should rely on it.
        func isStale(_ now: Int64) -> Bool { !(0..<86_400 ~= now - cameAt) }
    }

    /// The most pointers: one more, and all are forgotten.
    static let countMax = 64
    private static let byteCountMax = ChannelPointer.byteCountMax + (16 << 10)

    private let versions: VersionStore
    private let name: String

    init(
        _ versions: VersionStore, _ channel: ChannelName, at origin: OriginLocation
    ) throws(StoreError) {
        self.versions = versions
        name = try ObjectID(of: Array("\(origin.description) \(channel)".utf8)).description
    }

    /// The tag by which a server will tell the document from every other one; nil if it may not.
    ///
    /// Many servers make tags of a file's size and its time in whole seconds. Within two seconds of that time another
    /// file may have the same (RFC 9110, section 8.8.2.2).
    static func tag(of head: TransferHead) -> String? {
        guard let tag = head["etag"], isTag(tag) else { return nil }
        guard let modified = head["last-modified"] else { return tag }
        let now = HTTPDate(seconds: secondsNow())
        guard let modifiedAt = HTTPDate(modified, now: now),
            let sentAt = head["date"].flatMap({ HTTPDate($0, now: now) }),
            sentAt.seconds - modifiedAt.seconds > 2
        else { return nil }
        return tag
    }

    /// `entity-tag` of RFC 9110, section 8.8.3, in ASCII: one, and neither `*` nor a list, which would match anything.
    private static func isTag(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        if bytes.starts(with: [87, 47]) { bytes = bytes.dropFirst(2) }
        guard 2...byteCountMaxOfTag ~= bytes.count, bytes.first == 34, bytes.last == 34 else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { 33...126 ~= $0 && $0 != 34 }
    }

    private static let byteCountMaxOfTag = 512

    private var path: String { "\(StoreLayout.pointers)/\(name)" }
    private var root: Int32 { versions.directories.root.raw }

    /// The pointer that was kept; `nil` if there is none, or it cannot be trusted.
    func read() throws(StoreError) -> Kept? {
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try versions.fileSystem.ifPresent { () throws(StoreError) in
                try versions.fileSystem.contents(root, path, limit: Self.byteCountMax)
            }
        } catch {
            // Without it, the answer is only longer.
            guard error.code != .interrupted else { throw error }
            return nil
        }
        return bytes.flatMap { Self.parse($0) }
    }

    /// Keeps a pointer.
    func keep(_ pointer: Kept) {
        // The next answer is only longer without it: neither a full disk nor a read-only one may stop a pull.
        try? write(pointer)
    }

    private func write(_ pointer: Kept) throws(StoreError) {
        let fileSystem = versions.fileSystem
        try fileSystem.makeDirectoryIfAbsent(root, StoreLayout.pointers)
        let directory = try fileSystem.open(root, StoreLayout.pointers, .directory, mode: 0)
        let names = try fileSystem.names(in: directory.raw)
        if names.count >= Self.countMax, !names.contains(name) {
            for old in names { try fileSystem.removeIfPresent(directory.raw, old) }
        }
        try fileSystem.replaceFile(
            directory.raw, name, with: Self.serialized(pointer), mode: 0o600,
            token: try randomToken(), durably: false)
    }

    private static func serialized(_ pointer: Kept) -> [UInt8] {
        let body = Array("\(pointer.tag) \(pointer.cameAt)\n".utf8) + pointer.bytes
        return Array("\(head)\(sum(of: body))\n".utf8) + body
    }

    private static let head = "castree-pointer 1 "

    private static func sum(of bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { bytes in
            Fingerprinter.fingerprint(bytes).withBytes { Hex.string(Array($0)) }
        }
    }

    private static func parse(_ bytes: [UInt8]) -> Kept? {
        let lines = bytes.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, let text = String(validating: lines[1], as: UTF8.self),
            let space = text.lastIndex(of: " "),
            let cameAt = Int64(text[text.index(after: space)...])
        else { return nil }
        let kept = Kept(tag: String(text[..<space]), bytes: Array(lines[2]), cameAt: cameAt)
        return serialized(kept) == bytes ? kept : nil
    }
}
