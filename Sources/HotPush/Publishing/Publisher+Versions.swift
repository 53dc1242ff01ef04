package import CASStore
import Storage
package import VersionTree

// What is published of a store.

extension Publisher {
    // The store's collector must not delete what is being copied. If no pin can be made, nothing is
    // retired either; somebody else's store may change, and the copying notices that.
    static func pin(
        _ name: String, of versions: VersionStore
    ) throws(StoreError) -> VersionPin? {
        try StoreError.ignoring(.readOnly, .permission) { () throws(StoreError) in
            try versions.pin(name)
        }
    }

    /// What is published of a store: a version's files, and what a channel says of them.
    package typealias Description = (manifest: Manifest, version: PublishedVersion)

    package static func describe(
        _ name: String, of versions: VersionStore, _ offer: ReleaseOffer,
        _ limits: DeviceLimits? = nil
    ) throws(StoreError) -> Description {
        try offer.validate()
        let manifest = try versions.registeredManifest(of: name)
        let missing = try versions.missing(of: name)
        guard missing.isEmpty else {
            let byteCount = missing.reduce(0) { $0 + $1.bytes }
            throw StoreError(
                .incompleteVersion,
                "version \(name) lacks \(counted(missing.count, "object")) (\(sizeText(byteCount))) and is not "
                    + "published; add or pull it again")
        }
        var digester = try Digester(.sha256)
        var byteCount: Int64 = 0
        try manifest.serialize { (piece) throws(StoreError) in
            piece.withUnsafeBytes { digester.update($0) }
            byteCount += Int64(piece.count)
        }
        if let objection = try limits?.objection(to: manifest, byteCount: byteCount) {
            throw StoreError(
                .tooLarge,
                "version \(name) is not published, because devices would refuse it: \(objection); give publish the "
                    + "--max-entries that your devices have")
        }
        let version = PublishedVersion(
            name: manifest.version, manifest: digester.finish { ObjectID(unchecked: $0) },
            manifestByteCount: byteCount, content: try manifest.contentAddress())
        return (manifest, version)
    }

    /// What is said where an older release is published only to be verified.
    static func mending(_ version: PublishedVersion, _ channel: ChannelName) -> String {
        "version \(version.name) is not the newest of channel \(channel): it is checked and mended, and not offered again"
    }

    // A device that has one of them would refuse the other.
    static func checkName(
        _ version: PublishedVersion, _ pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) {
        let name = version.name.description
        for pointer in pointers.values.sorted(by: { $0.channel < $1.channel }) {
            let offered = pointer.releases.compactMap(\.version)
                .map { WithdrawnVersion(name: $0.name, content: $0.content) }
            for (known, isOffered) in offered.map({ ($0, true) })
                + pointer.withdrawn.map({ ($0, false) })
            {
                let other = known.name.description
                guard other.lowercased() == name.lowercased(),
                    other != name || known.content != version.content
                else { continue }
                throw StoreError(
                    .versionExists,
                    isOffered
                        ? "channel \(pointer.channel) offers a version \(other) with other content; "
                            + "choose another name: devices that have it would refuse this one"
                        : "a version \(other) with other content was withdrawn from channel \(pointer.channel), and devices "
                            + "that have it would refuse this one; choose another name")
            }
        }
    }
}

extension OriginPublisher {
    /// What is published of a store.
    /// - Throws: as ``publish(_:of:as:)`` for a version that cannot be published.
    func publication(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer,
        _ log: OriginLog, _ limits: DeviceLimits? = nil
    ) throws(StoreError) -> Publication {
        let described = try Publisher.describe(name, of: versions, offer, limits)
        return publication(described, of: versions, in: offer.channel, log)
    }

    func publication(
        _ described: Publisher.Description, of versions: VersionStore, in channel: ChannelName,
        _ log: OriginLog
    ) -> Publication {
        Publication(
            manifest: described.manifest, version: described.version, channel: channel,
            versions: versions, seen: SeenFiles(in: storage), watch: UploadWatch(log, now: now),
            options: options)
    }
}
