import CASStore

/// A release, and where it was found.
public struct FoundRelease: Sendable {
    /// What the origin offers.
    public var release: Release
    package var format: any ReleaseFormat
    package var location: OriginLocation
    package var origin: OriginURL
    /// The address of its content, by which bans are kept; `nil` if the format does not give it.
    let content: ObjectID?
    var offeredAt = ContinuousClock.now
    /// The channel's pointer that offers it; `nil` for other formats.
    var observation: SeenSequences.Observation?
    var state = PointerState.unjudged
    /// What the channel's pointer names; `nil` for other formats.
    var published: PublishedVersion?
    /// The epochs of its objects; `nil` if not fetched, or if all objects are in the release's epoch.
    var places: Places?
    var deliveryEpoch: Int64 = 0
    /// The ways to fetch it; `nil` without packs.
    package var choice: DeliveryChoice?

    var packs: [Delivery.Pack] { choice?.packs ?? [] }

    /// Whether the manifest has not been fetched, so that ``release`` has no files; a pack brings both.
    package var isPromise: Bool { published != nil && release.received.isEmpty }

    func isSame(as other: FoundRelease) -> Bool {
        if let published, let others = other.published {
            // The same content may have moved.
            return published.manifest == others.manifest && published.epoch == others.epoch
                && published.places == others.places
        }
        return release.received == other.release.received
    }
}
