package import CASStore
package import StrictJSON
import VersionTree

/// What one pack of a delivery costs a device, and what the same objects would cost it one by one.
package struct DeliveryLeg: Sendable, Hashable {
    /// The content from which the pack leads; `nil` for a pack of everything.
    package var base: ObjectID?
    /// A version that has that content.
    package var version: String?
    /// The channel that lists it; `nil` for the release's own.
    package var channel: ChannelName?
    /// The size of the pack.
    package var packByteCount: Int64
    /// The bytes of the delivery and the pack.
    package var byteCount: Int64
    /// The requests: pointer, delivery, pack.
    package var requestCount: Int64 { 3 }
    /// The bytes of the manifest and the objects.
    package var rawByteCount: Int64
    /// The requests: pointer, manifest, an object each.
    package var rawRequestCount: Int64

    /// What the packs of a release cost, that of everything first.
    /// - Parameters:
    ///   - pointer: tells the names of contents.
    ///   - others: tell them, too, where the pointer does not.
    package static func all(
        of delivery: Delivery, _ release: OfferedRelease, in pointer: ChannelPointer,
        besides others: [ChannelPointer] = []
    ) -> [DeliveryLeg] {
        guard let version = release.version, let published = release.delivery else { return [] }
        let legs = delivery.packs.map { pack in
            let source = ([pointer] + others).first { $0.version(with: pack.base) != nil }
            return DeliveryLeg(
                base: pack.base, version: source?.version(with: pack.base),
                channel: source?.channel == pointer.channel ? nil : source?.channel,
                packByteCount: pack.byteCount,
                byteCount: pack.byteCount + published.byteCount,
                rawByteCount: pack.contentByteCount.addingClamped(version.manifestByteCount),
                rawRequestCount: pack.objectCount.addingClamped(2))
        }
        return legs.filter { $0.base == nil } + legs.filter { $0.base != nil }
    }
}

extension ChannelPointer {
    /// The name of a version with that content.
    fileprivate func version(with content: ObjectID?) -> String? {
        releases.compactMap(\.version).first { $0.content == content }?.name.description
    }
}

extension DeliveryLeg {
    /// Writes the members of its object.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("from", base?.description)
        writer.member("fromVersion", version)
        writer.member("packBytes", packByteCount)
        writer.member("bytes", byteCount)
        writer.member("requests", requestCount)
        writer.member("rawBytes", rawByteCount)
        writer.member("rawRequests", rawRequestCount)
    }

    /// What it costs a device, in words.
    /// - Parameters:
    ///   - release: the version to which it leads.
    ///   - size: writes a number of bytes.
    package func sentence(to release: String, size: (Int64) -> String) -> String {
        let start =
            switch (base, version) {
            case (nil, _): "from nothing"
            case (_, let version?): "from \(version)\(channel.map { " of channel \($0)" } ?? "")"
            case (let base?, nil):
                "from a content that no channel here lists (\(base.shortDescription))"
            }
        return "\(release) \(start): \(size(byteCount)) in \(requestCount) requests; "
            + "raw \(size(rawByteCount)) in \(rawRequestCount)"
    }
}
