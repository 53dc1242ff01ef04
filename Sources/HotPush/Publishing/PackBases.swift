import CASStore
import VersionTree

/// The contents from which packs are to lead to a version: what devices may have now.
struct PackBases: Sendable {
    /// A content, and where its manifest is.
    struct Base: Sendable, Hashable {
        /// The version that has it.
        var version: String
        var content: ObjectID
        /// Its manifest in the origin; `nil` if it is a version of the store.
        var manifest: ObjectID?
    }

    /// The contents, each once: the last that the channel offered, newest first, then those of the store's versions.
    private(set) var all: [Base] = []

    /// - Parameters:
    ///   - pointer: what the channel offers; `nil` for a channel that is new.
    ///   - version: that to which the packs lead.
    init(
        _ pointer: ChannelPointer?, of version: PublishedVersion, _ options: PackOptions,
        _ versions: VersionStore
    ) throws(StoreError) {
        var seen: Set<ObjectID> = [version.content]
        for known in pointer?.releases.compactMap(\.version) ?? []
        where all.count < options.contentCount && seen.insert(known.content).inserted {
            all.append(
                Base(
                    version: known.name.description, content: known.content,
                    manifest: known.manifest))
        }
        for name in options.baseVersions {
            let content = try versions.registeredManifest(of: name).contentAddress()
            guard seen.insert(content).inserted else { continue }
            all.append(Base(version: name, content: content, manifest: nil))
        }
    }

    /// Their addresses.
    var contents: Set<ObjectID> { Set(all.map(\.content)) }

    /// Some contents themselves; one whose manifest is lost is left out.
    /// - Parameter origin: `nil` if there is none yet.
    static func load(
        _ bases: [Base], from origin: DirectoryOrigin?, _ versions: VersionStore,
        _ notice: (String) -> Void
    ) throws(StoreError) -> [PackedContent] {
        var loaded: [PackedContent] = []
        for base in bases {
            let manifest: Manifest
            if let address = base.manifest {
                guard let found = try Self.manifest(address, in: origin) else {
                    notice(
                        "no pack is made from version \(base.version): its manifest is not in the origin"
                    )
                    continue
                }
                manifest = found
            } else {
                manifest = try versions.registeredManifest(of: base.version)
            }
            loaded.append(PackedContent(version: base.version, content: base.content, manifest))
        }
        return loaded
    }

    private static func manifest(
        _ address: ObjectID, in origin: DirectoryOrigin?
    ) throws(StoreError) -> Manifest? {
        do throws(StoreError) {
            return try origin?.manifestBytes(address).map { (bytes) throws(StoreError) in
                try Manifest(parsing: bytes)
            }
        } catch {
            // Packs only save; what is wrong here, others mend.
            guard [.damagedOrigin, .tooLarge, .badManifest].contains(error.code) else {
                throw error
            }
            return nil
        }
    }
}
