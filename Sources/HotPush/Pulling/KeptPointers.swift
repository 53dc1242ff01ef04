import CASStore
import VersionTree

/// The last pointer of each channel, with the entity tag that its server gave it: a server that has no newer one
/// says so in a few bytes (RFC 9110, section 13.1.2).
///
/// A ``KeptFile`` by origin and channel: `castree-pointer 1 <XXH3-128>`, a line end, the tag, a space, when it came in
/// seconds since 1970, a line end, the pointer's bytes. After an hour it is asked for without a condition: where
/// a cache has put an old pointer under a new one's tag, the device does not miss the new one for longer. What is missing, torn or damaged is asked for without a condition, too.
/// What is kept is judged anew each time, like one that has just come.
struct KeptPointers {
    /// A pointer that came with a tag.
    struct Kept: Equatable {
        var tag: String
        var bytes: [UInt8]
        /// Seconds since 1970.
        var cameAt: Int64

        /// Whether it is so old, or from the future, that nobody should rely on it.
        func isStale(_ now: Int64) -> Bool { !(0..<3600 ~= now - cameAt) }
    }

    private static let byteCountMax = ChannelPointer.byteCountMax + (16 << 10)

    private let file: KeptFile

    init(
        _ versions: VersionStore, _ channel: ChannelName, at origin: OriginLocation
    ) throws(StoreError) {
        file = try KeptFile(versions, "\(origin.description) \(channel)")
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
        guard 2...tagByteCountMax ~= bytes.count, bytes.first == 34, bytes.last == 34 else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { 33...126 ~= $0 && $0 != 34 }
    }

    /// No server needs a longer one.
    static let tagByteCountMax = 512

    /// The pointer that was kept; `nil` if there is none, or it cannot be trusted.
    func read() throws(StoreError) -> Kept? {
        try file.read(limit: Self.byteCountMax).flatMap { Self.parse($0) }
    }

    /// Keeps a pointer.
    func keep(_ pointer: Kept) { file.write(Self.serialized(pointer)) }

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
