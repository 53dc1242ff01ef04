import CASStore
import StrictJSON

/// A small file in which a store keeps what is neither content nor the lifecycle.
///
/// Whoever reads one has its own rules; these say whether it is of any use to him at all.
struct StoreNote: Sendable {
    let name: String
    /// What its writers have locked.
    let lock: String
    /// What goes with it, and comes back how.
    let loss: String
    private let isSound: @Sendable ([UInt8]) -> Bool

    static let all = [server, pendingForced, channels, device] + logs

    /// More than any of them takes.
    private static let byteCountMax = 16 << 20

    private static let server = StoreNote(
        name: StoreLayout.server, lock: StoreLayout.serverLock,
        loss:
            "no server starts until castree fsck --repair sets it aside; then the port is computed "
            + "anew and pages need a new token"
    ) { bytes in
        guard let document = object(bytes) else { return false }
        let ports = document["ports"].map { $0.asObject?.map(\.value.asInt64) ?? [nil] } ?? []
        let token = document["token"].map { $0.asString ?? "" }
        return ports.allSatisfy { $0.map { (1...65_535).contains($0) } ?? false }
            && token.map { $0.utf8.count == 32 && $0.utf8.allSatisfy { Hex.value(of: $0) != nil } }
                ?? true
    }

    private static let pendingForced = StoreNote(
        name: StoreLayout.pendingForced, lock: StoreLayout.lifecycleLock,
        loss:
            "a mandatory release that was not shown yet counts as any other; castree fsck --repair "
            + "sets it aside"
    ) { object($0)?["version"]?.asString != nil }

    private static let channels = StoreNote(
        name: StoreLayout.channels, lock: StoreLayout.channelsLock,
        loss:
            "one older copy of a channel may pass for news; the next pull makes it anew, and "
            + "castree fsck --repair sets it aside"
    ) { bytes in
        // It is not synced: a power cut may leave any part of it, which the next pull writes anew.
        object(bytes)?.asObject?.allSatisfy { $0.value.asInt64 != nil } ?? true
    }

    private static let device = StoreNote(
        name: StoreLayout.device, lock: StoreLayout.channelsLock,
        loss:
            "the device is another one to roll-outs from now on; castree fsck --repair sets it aside"
    ) { object($0)?["device"]?.asString != nil }

    private static let logs = [StoreLayout.events, StoreLayout.olderEvents].map { name in
        StoreNote(
            name: name, lock: StoreLayout.eventsLock,
            loss: "what happened before is not known; castree fsck --repair sets it aside"
        ) { bytes in
            // It is not synced either: a power cut tears the last line, or leaves zeros; what ends no line says
            // nothing. One event in it makes it a log.
            guard let end = bytes.lastIndex(of: 10), !bytes.contains(0) else { return true }
            let lines = bytes[...end].split(separator: 10).reversed()
            return lines.isEmpty
                || lines.contains { object(Array($0))?["sequence"]?.asInt64 != nil }
        }
    }

    private static func object(_ bytes: [UInt8]) -> JSONValue? {
        // What is wrong with it matters to nobody.
        guard let document = try? JSONValue.parse(bytes), document.asObject != nil else {
            return nil
        }
        return document
    }

    /// What is wrong with it in a store; `nil` if nothing is, it is not there, or this user may not read it.
    func problem(in versions: VersionStore) throws(StoreError) -> String? {
        let root = versions.directories.root.raw
        do throws(StoreError) {
            guard let status = try versions.fileSystem.status(root, name) else { return nil }
            guard status.kind == .regular else { return "it is not a regular file" }
            guard status.byteCount <= Int64(Self.byteCountMax) else { return "it is too large" }
            let bytes = try versions.fileSystem.contents(root, name, limit: Self.byteCountMax)
            return isSound(bytes) ? nil : "what is in it makes no sense"
        } catch {
            switch error.code {
            case .permission, .notFound: return nil
            case .io: return error.message
            default: throw error
            }
        }
    }
}

extension VersionStore {
    /// Checks the small files of the store that nothing else checks.
    ///
    /// - Parameter repairing: whether to put into quarantine what cannot be read.
    func checkNotes(repairing: Bool) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for note in StoreNote.all {
            guard let problem = try note.problem(in: self) else { continue }
            let finding = Finding(
                .damagedNote, path: note.name,
                "\(note.name) cannot be read (\(problem)): \(note.loss)")
            findings.append(
                try finding.repaired { () throws(StoreError) in
                    guard repairing else { return finding }
                    try setAside(note)
                    return finding.done
                })
        }
        return findings
    }

    private func setAside(_ note: StoreNote) throws(StoreError) {
        let lock = try store.openLock(note.lock)
        try store.waitForLock(lock.raw, exclusive: true)
        // Somebody may have written it anew, or set it aside, meanwhile.
        guard try note.problem(in: self) != nil else { return }
        let dot = note.name.firstIndex(of: ".") ?? note.name.endIndex
        try fileSystem.setAside(
            directories.root.raw, note.name, to: directories.quarantine.raw,
            try StoreLayout.aside(String(note.name[..<dot]), suffix: String(note.name[dot...])))
    }
}
