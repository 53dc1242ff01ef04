/// The source of a partial file that no digest identifies, kept beside it in `staging/<name>.from`.
///
/// Such a part may be continued only from the same source, and if no power cut can have torn it: the note also names
/// the boot during which it was written. `castree-part 1 <boot>`, a line end, the source.
struct PartSource {
    private let store: Store
    private let name: String

    init(_ store: Store, _ name: ObjectID) {
        self.store = store
        self.name = name.description + StoreLayout.sourceSuffix
    }

    private var staging: Int32 { store.directories.staging.raw }

    /// The noted source, and whether it was noted since the system started.
    func read() throws(StoreError) -> (source: String, isOfThisBoot: Bool)? {
        guard try store.fileSystem.status(staging, name)?.kind == .regular else { return nil }
        let bytes = try store.fileSystem.contents(staging, name, limit: 16 * 1024)
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let head = "castree-part 1 "
        guard lines.count == 3, lines[0].hasPrefix(head), !lines[1].isEmpty, lines[2].isEmpty
        else { return nil }
        let boot = try store.fileSystem.systemBoot()
        return (String(lines[1]), boot != nil && boot == String(lines[0].dropFirst(head.count)))
    }

    func note(_ source: String) throws(StoreError) {
        guard !source.utf8.contains(10), source.utf8.count < 8 * 1024 else { return try remove() }
        let boot = try store.fileSystem.systemBoot() ?? "-"
        try store.fileSystem.replaceFile(
            staging, name, with: Array("castree-part 1 \(boot)\n\(source)\n".utf8), mode: 0o600,
            token: "new", durably: false)
    }

    func sync() throws(StoreError) {
        guard let file = try store.fileSystem.openIfPresent(staging, name, .reading) else { return }
        try store.sync(file.raw)
    }

    func remove() throws(StoreError) { try store.fileSystem.removeIfPresent(staging, name) }

    /// Removes a note whose part is gone; a part is created before its note, so no running writer loses its note.
    static func removeOrphan(_ name: String, _ store: Store) throws(StoreError) {
        let staging = store.directories.staging.raw
        guard let part = part(of: name), try store.fileSystem.status(staging, part) == nil else {
            return
        }
        try store.fileSystem.removeIfPresent(staging, name)
    }

    /// The name of the part that a note is about, even of a note that was never finished.
    private static func part(of name: String) -> String? {
        var note = name[...]
        if note.hasPrefix("."), note.hasSuffix(".new") { note = note.dropFirst().dropLast(4) }
        guard note.hasSuffix(StoreLayout.sourceSuffix) else { return nil }
        let part = String(note.dropLast(StoreLayout.sourceSuffix.count))
        return ObjectID(part) == nil ? nil : part
    }
}
