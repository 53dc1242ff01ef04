import CASStore
import StrictJSON

/// Since when no channel has named a manifest: `.publish/unreferenced.json`.
///
/// Clients that have read an older pointer are still downloading; what they need is kept for a
/// while. A file that cannot be read counts as empty: then the time starts anew.
struct UnreferencedManifests: Hashable {
    /// Seconds since 1970, by the address of the manifest.
    var since: [ObjectID: Int64] = [:]

    static func read(in origin: OriginWriter) throws(StoreError) -> UnreferencedManifests {
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try origin.fileSystem.contents(
                origin.work.raw, OriginLayout.unreferenced, limit: 64 << 20)
        } catch {
            guard error.code == .notFound || error.code == .tooLarge else { throw error }
            return UnreferencedManifests()
        }
        var result = UnreferencedManifests()
        // Unreadable is empty, as said above.
        let document = try? JSONValue.parse(bytes)
        for member in document?["manifests"]?.asObject ?? [] {
            guard let address = ObjectID(member.key), let since = member.value.asInt64 else {
                continue
            }
            result.since[address] = since
        }
        return result
    }

    func write(in origin: OriginWriter) throws(StoreError) {
        let members = since.map {
            JSONValue.Member(key: $0.key.description, value: .integer($0.value))
        }
        let document = JSONValue.object([.init(key: "manifests", value: .object(members))])
        try origin.fileSystem.replaceFile(
            origin.work.raw, OriginLayout.unreferenced,
            with: JSONWriter.serialize(document, sortedKeys: true) + [10],
            mode: OriginWriter.fileMode, token: "new", durably: origin.options.isDurable)
    }

    /// Notes that a channel is about to name a manifest again.
    static func forget(_ manifest: ObjectID, in origin: OriginWriter) throws(StoreError) {
        var known = try read(in: origin)
        guard known.since.removeValue(forKey: manifest) != nil else { return }
        try known.write(in: origin)
    }
}
