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
    ///   - others: what others offer, from which packs lead, too, if the channel has offered too few contents.
    ///   - version: that to which the packs lead.
    init(
        _ pointer: ChannelPointer?, others: [OfferedRelease] = [], of version: PublishedVersion,
        _ options: PackOptions, _ versions: VersionStore
    ) throws(StoreError) {
        var seen: Set<ObjectID> = [version.content]
        let releases = (pointer?.releases ?? []) + others
        for known in releases.compactMap(\.version)
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
    /// - Parameter read: reads a manifest of the origin.
    static func load(
        _ bases: [Base], _ versions: VersionStore, _ notice: (String) -> Void,
        _ read: (ObjectID) throws(StoreError) -> Manifest?
    ) throws(StoreError) -> [PackedContent] {
        var loaded: [PackedContent] = []
        for base in bases {
            let manifest: Manifest
            if let address = base.manifest {
                guard let found = try base.manifest(address, versions, notice, read) else {
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

    /// What the origin has of a base; `nil` if it is damaged.
    static func harmless<R>(_ body: () throws(StoreError) -> R?) throws(StoreError) -> R? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard harmlessCodes.contains(error.code) else { throw error }
            return nil
        }
    }

    /// It only saves; what is wrong here, others mend.
    fileprivate static let harmlessCodes: [StoreError.Code] = [
        .damagedOrigin, .tooLarge, .badManifest, .badPack,
    ]
}

extension PackBases.Base {
    /// Its manifest, the origin's or else the store's; `nil` if both are lost.
    ///
    /// Says what is wrong with the origin's.
    fileprivate func manifest(
        _ address: ObjectID, _ versions: VersionStore, _ notice: (String) -> Void,
        _ read: (ObjectID) throws(StoreError) -> Manifest?
    ) throws(StoreError) -> Manifest? {
        let problem: String
        do throws(StoreError) {
            if let found = try read(address) { return found }
            problem = "its manifest is not in the origin"
        } catch {
            guard PackBases.harmlessCodes.contains(error.code) else { throw error }
            problem = error.message
        }
        if let own = try versions.manifest(address, of: content) {
            notice("the pack from version \(version) is made with the store's manifest: \(problem)")
            return own
        }
        notice("no pack is made from version \(version): \(problem)")
        return nil
    }
}
