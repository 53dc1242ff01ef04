package import Archives
package import Platform
import StrictJSON
package import VersionTree

/// A release as hot-updater's clients keep it: its files, and `manifest.json`, which says their hashes.
package struct HotUpdaterPackage {
    /// The files and what is known of them.
    package var content: ClientContent
    /// `manifest.json`: written when the bundle is published, and never again.
    package var manifest: [UInt8]

    /// Makes a bundle.
    package init(_ content: ClientContent, manifest: [UInt8]) {
        self.content = content
        self.manifest = manifest
    }

    /// The name of the manifest in the archive.
    package static let manifestName = "manifest.json"

    /// The manifest of a content, as JavaScript writes it with two blanks, and a newline.
    ///
    /// Clients compare the hashes of two of them by path to know which files to fetch.
    /// - Parameter signatures: of the files' digests, in Base64; empty for an unsigned bundle.
    package static func manifest(
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

    /// The archive: all files and the manifest.
    package func archive() throws(StoreError) -> ZipArchive {
        var members = [ZipMember(path: Self.manifestName, bytes: manifest)]
        for entry in content.manifest.entries {
            members.append(try content.member(entry, at: entry.path.description))
        }
        return try ZipArchive(members)
    }

    /// The files that a client fetches that has another bundle, by their paths: those that are new there, or other.
    ///
    /// Content that has only moved is fetched once more: clients look for it by path.
    package func changes(from base: ClientContent) -> [Manifest.Entry] {
        let (old, new) = (base.manifest, content.manifest)
        var changes: [Manifest.Entry] = []
        new.forEachDifference(from: old) { difference in
            switch difference {
            case .removed: break
            case .added(let position): changes.append(new[position])
            case .changed(let before, let after):
                if old.address(at: before) != new.address(at: after) { changes.append(new[after]) }
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
