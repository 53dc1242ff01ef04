import CASStore
import VersionTree

extension ObjectID {
    /// Stands for content whose address the publisher does not give, until the content has come.
    ///
    /// A name, not a digest of content: `SHA-256("castree-provisional 1\n" + parts joined by NUL)`.
    /// It is missing until the content comes and the manifest is revised. The same label and size
    /// always give the same name, so any later pull that wants this content finds a partial file
    /// again, whatever the version.
    static func provisional(_ parts: [String]) throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        var text = Array("castree-provisional 1\n".utf8)
        for part in parts {
            text += part.utf8
            text.append(0)
        }
        hasher.update(text.span.bytes)
        return hasher.finish().address
    }
}

extension ReleaseFile {
    /// The name of its content until the content has come.
    ///
    /// - Parameters:
    ///   - origin: where it comes from; names content that has no label.
    ///   - version: the release's name; for the same purpose.
    func provisionalAddress(
        origin: String, version: String
    ) throws(StoreError) -> ObjectID {
        if let address { return try .provisional(["address", address.description]) }
        var names: [String] = []
        for check in checks {
            switch check {
            // A checksum does not name content: another origin's file of that size may share it.
            case .digest(let label) where !label.algorithm.identifiesContent: continue
            case .unknownDigest: continue
            case .digest(let label): names.append(label.description)
            case .entityTag(let tag): names.append("etag:" + tag)
            case .meteorLabel(let label): names.append("meteor:" + label)
            }
        }
        names.sort()
        if names.isEmpty { names = ["source", origin, version] + place }
        return try .provisional(names + [byteCount.map(String.init) ?? "?"])
    }

    /// What distinguishes its content from that of the release's other files.
    private var place: [String] {
        // Many files may come from one archive.
        guard let source = plainSources.first else { return ["path", path.description] }
        return [source.reference] + source.fields.flatMap { [$0.name, $0.value] }
    }
}
