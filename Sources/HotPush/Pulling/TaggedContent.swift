import CASStore
import StrictJSON
import VersionTree

/// Content that the store has, with the strong entity tag under which its server sent it.
///
/// Where neither address nor label vouches for content, it is asked for on condition that it has changed: what has
/// not costs an answer without a body (RFC 9110, section 13.1.2). The tag is kept with the version, in the member
/// `entityTag` of the file's entry in its manifest.
struct TaggedContent: Sendable, Hashable {
    /// With its quotes.
    var tag: String
    var address: ObjectID
    var byteCount: Int64

    /// The tag by which a server will tell these bytes from all others that it ever has at this URL; nil if it may not.
    static func tag(of head: TransferHead) -> String? {
        guard let tag = KeptPointers.tag(of: head), Validator.isStrongTag(tag) else { return nil }
        return tag
    }

    /// The tag that a version keeps of a file.
    static func tag(of entry: Manifest.Entry) -> String? {
        let kept = entry.foreign.first { $0.key == ArrivedContent.tagKey }?.value.asString
        guard let kept, kept.utf8.count <= KeptPointers.tagByteCountMax,
            Validator.isStrongTag(kept)
        else { return nil }
        return kept
    }
}

/// What the versions of a store keep of one origin's files: content by path.
struct TaggedContents {
    /// The name of the member of a manifest that says where its files came from: ``digest(of:)``.
    static let originKey = "fetchedFrom"
    /// As many versions of a file are asked about at once: going back to an older one is as cheap.
    private static let countMax = 4

    private let origin: String
    private let family: String
    private var contents: [TreePath: [TaggedContent]] = [:]

    /// - Parameter family: the format of the release; another one's files mean nothing here.
    init(
        _ files: [ReleaseFile], from location: OriginLocation, family: String
    ) throws(StoreError) {
        origin = try Self.digest(of: location)
        self.family = family
        for file in files where file.isKnownByTag { contents[file.path] = [] }
    }

    /// Names an origin without its URL, in which there may be secrets.
    static func digest(of location: OriginLocation) throws(StoreError) -> String {
        try ObjectID(of: Array(location.description.utf8)).description
    }

    /// Takes what a version of the same origin keeps.
    mutating func note(_ manifest: Manifest) {
        guard !contents.isEmpty, manifest.received?.format == family,
            manifest.foreign.first(where: { $0.key == Self.originKey })?.value.asString == origin
        else { return }
        for entry in manifest.entries {
            guard contents[entry.path] != nil, let tag = TaggedContent.tag(of: entry) else {
                continue
            }
            let one = TaggedContent(tag: tag, address: entry.address, byteCount: entry.byteCount)
            if contents[entry.path]?.contains(one) == false { contents[entry.path]?.append(one) }
        }
    }

    /// What a file may still be: content that is here, each with a tag of its own.
    func content(of file: ReleaseFile, in store: Store) throws(StoreError) -> [TaggedContent] {
        guard file.isKnownByTag, let found = contents[file.path] else { return [] }
        var result: [TaggedContent] = []
        for one in found {
            // A server that gave two contents one tag cannot tell them apart.
            guard result.count < Self.countMax, found.count(where: { $0.tag == one.tag }) == 1,
                file.byteCount ?? one.byteCount == one.byteCount
            else { continue }
            if try store.contains(one.address) { result.append(one) }
        }
        return result
    }
}

extension ReleaseFile {
    /// Whether nothing but its server knows its content, at a URL that its path alone gives.
    var isKnownByTag: Bool {
        address == nil && checks.isEmpty && !needsInspection
            && sources == [ContentSource(PercentEncoding.name(path.description))]
    }
}
