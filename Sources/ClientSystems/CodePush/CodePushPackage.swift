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

    /// A name for which clients on iOS compute another hash; `nil` if there is none.
    ///
    /// They hash as many bytes of the list as it has UTF-16 units (React Native's `computeFinalHashFromManifest`).
    var nameBeyondASCII: TreePath? {
        content.manifest.entries.lazy.map(\.path).first { path in
            path.description.utf8.contains { $0 >= 0x80 }
        }
    }

    /// The archive of what a client lacks that has another package, and `hotcodepush.json` with what it has too much:
    /// files, then the directories that they leave empty, or a later file could not take their place.
    ///
    /// `nil` where clients would fail. A file takes the place of a directory, and React Native's put files over what is
    /// there; or a directory that of a file, and Cordova's put files there before they delete. Or a name makes those on
    /// iOS compute a wrong hash, which they check after a difference and not after the whole.
    package func difference(from base: CodePushPackage) throws(StoreError) -> ZipArchive? {
        if nameBeyondASCII != nil { return nil }
        let (old, new) = (base.content.manifest, content.manifest)
        var changed: [Manifest.Entry] = []
        var deleted: [TreePath] = []
        var emptied: Set<TreePath> = []
        var isBlocked = false
        new.forEachDifference(from: old) { difference in
            switch difference {
            case .removed(let position):
                let path = old[position].path
                deleted.append(path)
                if new.hasFiles(below: path) { isBlocked = true }
                emptied.formUnion(path.directories)
            case .added(let position):
                let entry = new[position]
                if old.hasFiles(below: entry.path) { isBlocked = true }
                changed.append(entry)
            case .changed(_, let position): changed.append(new[position])
            }
        }
        if isBlocked { return nil }
        // What lies in a directory sorts after it.
        let directories = emptied.filter { !new.hasFiles(below: $0) }.sorted().reversed()
        let list = JSONWriter.document { writer in
            writer.member("deletedFiles", (deleted + directories).map { place(of: $0.description) })
        }
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

extension TreePath {
    /// The paths of the directories that it lies in.
    fileprivate var directories: [TreePath] {
        var found: [TreePath] = []
        let bytes = Array(description.utf8)
        for position in bytes.indices where bytes[position] == UInt8(ascii: "/") {
            // The beginning of a path is a path.
            if let path = try? TreePath(String(decoding: bytes[..<position], as: UTF8.self)) {
                found.append(path)
            }
        }
        return found
    }
}
