import CASStore
import StrictJSON
import VersionTree

/// The newest sequence that was seen of every channel: an older copy from a cache is no news.
///
/// `channels.json` in the store: `{"https://example.org/app stable":1760000000}`; changed under a lock,
/// replaced as a whole. It is not synced: what a pull brings makes it durable. A damaged one is made
/// anew: what is lost is only the protection against one old copy.
struct SeenSequences {
    private let versions: VersionStore
    private static let countMax = 64

    init(_ versions: VersionStore) { self.versions = versions }

    /// Notes the sequence of a pointer that has come, unless it is only asked about.
    /// - Returns: the sequence that was seen before, if that is a larger one.
    func newer(
        than sequence: Int64, of channel: ChannelName, at origin: OriginLocation, isNoted: Bool
    ) throws(StoreError) -> Int64? {
        let key = "\(origin.description) \(channel)"
        guard isNoted else {
            let before = try read().first { $0.key.utf8.elementsEqual(key.utf8) }?.value.asInt64
            guard let before, before > sequence else { return nil }
            return before
        }
        let lock = try versions.fileSystem.open(
            versions.directories.leases.raw, ".channels", .updating, mode: 0o644)
        _ = try versions.fileSystem.lock(lock.raw, exclusive: true, waiting: true)
        var seen = try read()
        if let position = seen.firstIndex(where: { $0.key.utf8.elementsEqual(key.utf8) }) {
            let before = seen.remove(at: position).value.asInt64 ?? 0
            if before > sequence { return before }
            if before == sequence { return nil }
        }
        seen.append(.init(key: key, value: .integer(sequence)))
        if seen.count > Self.countMax { seen.removeFirst() }
        var writer = JSONWriter()
        writer.value(.object(seen))
        try versions.fileSystem.replaceFile(
            versions.directories.root.raw, StoreLayout.channels, with: writer.bytes,
            token: "new", durably: false)
        return nil
    }

    private func read() throws(StoreError) -> [JSONValue.Member] {
        let root = versions.directories.root.raw
        guard try versions.fileSystem.status(root, StoreLayout.channels)?.kind == .regular else {
            return []
        }
        let bytes = try versions.fileSystem.contents(root, StoreLayout.channels, limit: 1 << 16)
        do throws(JSONError) {
            guard case .object(let members) = try JSONValue.parse(bytes) else { return [] }
            return members
        } catch {
            // Made anew by the next pointer; see above.
            return []
        }
    }
}
