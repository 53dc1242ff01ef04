import Archives
import HotPush
import Platform
import StrictJSON
import VersionTree

/// A release as CodePush's clients keep it: all files below one folder, identified by one hash.
struct CodePushPackage {
    var content: ClientContent
    var folder: String
    /// The signature of the package hash, a JWT; `nil` if there is none.
    var signature: String?

    init(_ content: ClientContent, folder: String, signature: String? = nil) {
        self.content = content
        self.folder = folder
        self.signature = signature
    }

    /// The file of the signature, which is not part of the release.
    static let signatureName = ".codepushrelease"

    /// The package hash: SHA-256 of the compact JSON array of `"path:sha256"`, sorted by UTF-16 units.
    ///
    /// Clients compute it from the unpacked files, without those that ``isIgnored(_:)`` names.
    func hash() throws(StoreError) -> ObjectID {
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

    /// The hash ignores macOS's leftovers and its own signature.
    static func isIgnored(_ path: String) -> Bool {
        let bytes = path.utf8
        if bytes.starts(with: "__MACOSX/".utf8) { return true }
        let name = bytes.split(separator: UInt8(ascii: "/")).last ?? bytes[...]
        return name.elementsEqual(".DS_Store".utf8) || name.elementsEqual(signatureName.utf8)
    }

    func archive() throws(StoreError) -> ZipArchive {
        try archive(of: content.manifest.entries, [])
    }

    /// The first name for which clients on iOS compute a wrong hash; `nil` if there is none.
    ///
    /// They hash as many bytes of the list as it has UTF-16 units (React Native's `computeFinalHashFromManifest`).
    var nameBeyondASCII: String? {
        content.manifest.entries.lazy.map(\.path.description).first {
            $0.utf8.contains { $0 >= 0x80 }
        }
    }

    /// The files that a client with another package is missing, and `hotcodepush.json`, which lists what to delete:
    /// files, then the directories left empty, so that a later file can take their place.
    ///
    /// `nil` where clients would fail. React Native's write files over existing ones, so a file cannot replace a
    /// directory. Cordova's delete last, so a directory cannot replace a file. Clients on iOS check the hash after a
    /// difference and compute it wrong for some names.
    func difference(from base: CodePushPackage) throws(StoreError) -> ZipArchive? {
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
        // The contents of a directory sort after it.
        let directories = emptied.filter { !new.hasFiles(below: $0) }.sorted().reversed()
        let list = JSONWriter.document { writer in
            writer.member("deletedFiles", (deleted + directories).map { place(of: $0.description) })
        }
        return try archive(of: changed, [ZipMember(path: "hotcodepush.json", bytes: list)])
    }

    private func archive(
        of entries: some Sequence<Manifest.Entry>, _ more: [ZipMember]
    ) throws(StoreError) -> ZipArchive {
        var members = try more + content.members(entries, below: "\(folder)/")
        if let signature {
            members.append(
                ZipMember(path: place(of: Self.signatureName), bytes: Array(signature.utf8)))
        }
        return try ZipArchive(members)
    }

    private func place(of path: String) -> String { "\(folder)/\(path)" }
}

extension TreePath {
    fileprivate var directories: [TreePath] {
        var found: [TreePath] = []
        let bytes = Array(description.utf8)
        for position in bytes.indices where bytes[position] == UInt8(ascii: "/") {
            // A prefix of a path is a path.
            if let path = try? TreePath(String(decoding: bytes[..<position], as: UTF8.self)) {
                found.append(path)
            }
        }
        return found
    }
}
