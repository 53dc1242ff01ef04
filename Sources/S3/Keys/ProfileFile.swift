import Platform
import Storage

/// A file of profiles: `~/.aws/config`, `~/.aws/credentials`.
///
/// It has sections `[profile name]`, `[name]`, `[services name]`; in them `key = value`, and indented lines below a
/// key without a value. Other lines are ignored, as by other readers.
struct ProfileFile: Sendable {
    /// The settings by section; indented ones as `key.inner`.
    private var sections: [String: [String: String]] = [:]

    private static let byteCountMax = 1 << 20

    init() {}

    init(_ text: String) {
        var section: String?
        var parent: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let content = line.trimmed(where: \.isWhitespace)
            guard let first = content.first, first != "#", first != ";" else { continue }
            let isIndented = line.first == " " || line.first == "\t"
            if !isIndented, first == "[" {
                section = content.firstIndex(of: "]").map {
                    Self.name(content[content.index(after: content.startIndex)..<$0])
                }
                parent = nil
                if let section { sections[section, default: [:]][""] = "" }
                continue
            }
            guard let section, let equals = content.firstIndex(of: "=") else { continue }
            var key = content[..<equals].trimmed(where: \.isWhitespace).lowercased()
            let value = content[content.index(after: equals)...].trimmed(where: \.isWhitespace)
            if isIndented, let parent {
                key = "\(parent).\(key)"
            } else {
                parent = value.isEmpty ? key : nil
            }
            sections[section, default: [:]][key] = String(value)
        }
    }

    /// A missing file has no profiles.
    /// - Throws: `.credentials` if it exists and cannot be read.
    init(at path: String, _ fileSystem: any FileSystem) throws(StoreError) {
        do throws(StoreError) {
            let bytes = try fileSystem.text(at: path, limit: Self.byteCountMax)
            self.init(bytes ?? "")
        } catch {
            throw StoreError(
                .credentials, "unable to read the profiles in \(printable(path)): \(error.message)",
                cause: error.cause)
        }
    }

    func has(_ section: String) -> Bool { sections[section] != nil }

    subscript(section: String, key: String) -> String? {
        guard let value = sections[section]?[key], !value.isEmpty else { return nil }
        return value
    }

    /// `profile ci` and `ci` become one; `services local` stays.
    private static func name(_ heading: Substring) -> String {
        let words = heading.split(whereSeparator: \.isWhitespace)
        if words.count == 2, words[0] == "profile" { return String(words[1]) }
        return words.joined(separator: " ")
    }
}

extension FileSystem {
    /// The text of a file that a user or the system named; `nil` if there is none.
    func text(at path: String, limit: Int) throws(StoreError) -> String? {
        try ifPresent { () throws(StoreError) in
            let file = try open(
                POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0)
            let bytes = try read(file.raw, at: 0, count: limit)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
