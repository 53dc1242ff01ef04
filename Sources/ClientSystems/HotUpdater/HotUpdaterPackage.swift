import Archives
import Platform
import StrictJSON
import VersionTree

/// A release as hot-updater's clients keep it: its files, and `manifest.json` with their hashes.
struct HotUpdaterPackage {
    var content: ClientContent
    /// `manifest.json`, written only when the bundle is published.
    var manifest: [UInt8]

    static let manifestName = "manifest.json"

    /// The manifest of a content, as JavaScript writes it with an indentation of two, and a newline.
    ///
    /// Clients compare the hashes of two manifests by path to know which files to fetch.
    /// - Parameter signatures: of the files' digests, in Base64; empty for an unsigned bundle.
    static func manifest(
        of content: ClientContent, id: String, signatures: [ObjectID: String] = [:]
    ) -> [UInt8] {
        var lines = ["{", "  \"bundleId\": \(quoted(id)),"]
        let entries = content.manifest.entries
        lines.append(entries.isEmpty ? "  \"assets\": {}" : "  \"assets\": {")
        for (position, entry) in entries.enumerated() {
            lines.append("    \(quoted(entry.path.description)): {")
            let signature = signatures[entry.address]
            let hash = "      \"fileHash\": \(quoted(entry.address.description))"
            lines.append(signature == nil ? hash : hash + ",")
            if let signature { lines.append("      \"signature\": \(quoted(signature))") }
            lines.append(position == entries.count - 1 ? "    }" : "    },")
        }
        if !entries.isEmpty { lines.append("  }") }
        lines.append("}")
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    func archive() throws(StoreError) -> ZipArchive {
        try ZipArchive(
            [ZipMember(path: Self.manifestName, bytes: manifest)]
                + content.members(content.manifest.entries))
    }

    /// The files that a client with another bundle fetches: those whose path is new or has other content.
    ///
    /// Moved content is fetched again, because clients look for it by path.
    func changes(
        from base: ClientContent, _ patches: PatchTable = PatchTable(nil)
    ) -> [HotUpdaterChange] {
        let (old, new) = (base.manifest, content.manifest)
        var changes: [HotUpdaterChange] = []
        new.forEachDifference(from: old) { difference in
            switch difference {
            case .removed: break
            case .added(let position): changes.append(HotUpdaterChange(entry: new[position]))
            case .changed(let before, let after):
                let (base, object) = (old.address(at: before), new.address(at: after))
                guard base != object else { break }
                changes.append(
                    HotUpdaterChange(
                        entry: new[after], base: base,
                        patch: patches.patch(to: object, from: base)))
            }
        }
        return changes
    }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.drain(), as: UTF8.self)
    }
}

/// A file that a client with another bundle fetches.
struct HotUpdaterChange: Sendable, Hashable {
    var entry: Manifest.Entry
    /// What the client has at the same path; `nil` for nothing.
    var base: ObjectID?
    /// What makes the file of the base; `nil` for nothing.
    var patch: ClientPatch?

    func write(to writer: inout JSONWriter, _ check: HotUpdaterCheck, _ inquiry: ClientInquiry) {
        writer.member(entry.path.description) { writer in
            writer.member("fileHash", entry.address.description)
            // Always, also beside a patch: without it the client would fetch the archive if a patch fails.
            writer.member("file") { $0.member("url", inquiry.url(of: entry.address)) }
            guard let base, let patch else { return }
            writer.member("patch") { writer in
                writer.member("algorithm", "bsdiff")
                writer.member("baseBundleId", check.current)
                writer.member("baseFileHash", base.description)
                writer.member("patchFileHash", patch.address.description)
                writer.member("patchUrl", HotUpdater.patchURL(patch, inquiry.configuration))
            }
        }
    }
}
