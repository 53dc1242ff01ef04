package import Archives
import HotPush
package import Platform
import StrictJSON
import VersionTree

/// A release as CodePush's clients keep it: all files below one folder, known by one hash.
package struct CodePushPackage {
    /// The files and what is known of them.
    package var content: ClientContent
    /// The folder: `CodePush` or `www`.
    package var folder: String
    /// The signature of the package hash, a JWT; `nil` if there is none.
    package var signature: String?

    /// Makes a package.
    package init(_ content: ClientContent, folder: String, signature: String? = nil) {
        self.content = content
        self.folder = folder
        self.signature = signature
    }

    /// The file that a signature stands in, which is no file of the release.
    package static let signatureName = ".codepushrelease"

    /// The package hash: SHA-256 of the compact JSON array of `"path:sha256"`, sorted by UTF-16 units.
    ///
    /// Clients compute it of what they have unpacked, without the files that ``isIgnored(_:)`` names.
    package func hash() throws(StoreError) -> ObjectID {
        var lines: [String] = []
        for entry in content.manifest.entries {
            let path = place(of: entry.path.description)
            if !Self.isIgnored(path) { lines.append("\(path):\(entry.address)") }
        }
        lines.sort(by: JSONWriter.keyPrecedes)
        var writer = JSONWriter()
        writer.array(lines) { writer, line in writer.string(line) }
        return try ObjectID(of: writer.drain())
    }

    /// Whether a file counts for nothing in the hash: what macOS leaves behind, and the signature of the hash.
    package static func isIgnored(_ path: String) -> Bool {
        let bytes = path.utf8
        if bytes.starts(with: "__MACOSX/".utf8) { return true }
        let name = bytes.split(separator: UInt8(ascii: "/")).last ?? bytes[...]
        return name.elementsEqual(".DS_Store".utf8) || name.elementsEqual(signatureName.utf8)
    }

    /// The archive of all files.
    package func archive() throws(StoreError) -> ZipArchive {
        try archive(of: content.manifest.entries, [])
    }

    /// The archive of what a client lacks that has another package, and `hotcodepush.json` with what it has too much;
    /// `nil` if a file takes the place of a directory: clients put files over what is there and would fail.
    package func difference(from base: CodePushPackage) throws(StoreError) -> ZipArchive? {
        let (old, new) = (base.content.manifest, content.manifest)
        var changed: [Manifest.Entry] = []
        var deleted: [String] = []
        var isBlocked = false
        new.forEachDifference(from: old) { difference in
            switch difference {
            case .removed(let position): deleted.append(place(of: old[position].path.description))
            case .added(let position):
                let entry = new[position]
                if old.hasFiles(below: entry.path) { isBlocked = true }
                changed.append(entry)
            case .changed(_, let position): changed.append(new[position])
            }
        }
        if isBlocked { return nil }
        let list = JSONWriter.document { $0.member("deletedFiles", deleted) }
        return try archive(of: changed, [ZipMember(path: "hotcodepush.json", bytes: list)])
    }

    private func archive(
        of entries: some Sequence<Manifest.Entry>, _ more: [ZipMember]
    ) throws(StoreError) -> ZipArchive {
        var members = more
        for entry in entries {
            members.append(try content.member(entry, at: place(of: entry.path.description)))
        }
        if let signature {
            members.append(
                ZipMember(path: place(of: Self.signatureName), bytes: Array(signature.utf8)))
        }
        return try ZipArchive(members)
    }

    private func place(of path: String) -> String { "\(folder)/\(path)" }
}
