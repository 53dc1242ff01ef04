import CASStore

/// A release, and where it was found.
public struct FoundRelease: Sendable {
    /// What is offered.
    public var release: Release
    /// How it is written.
    package var format: any ReleaseFormat
    /// Where it was found.
    package var location: OriginLocation
    /// What the sources of its files are relative to.
    package var origin: OriginURL
    /// The address of its content, as bans are kept by; `nil` if the format does not say it.
    let content: ObjectID?
    /// The channel's pointer that offers it; `nil` for other formats.
    var sighting: SeenSequences.Sighting?
}

/// What an origin has to say.
public enum OriginAnswer: Sendable {
    /// It offers a release.
    case release(FoundRelease)
    /// It offers content that a version of the store has, so its manifest was not fetched.
    case known(version: String)
    /// Devices are to run what was shipped with the app.
    case embedded
    /// Nothing that it offers is for this device; the reasons, one for each release.
    case nothing([String])
}

/// An origin's answer, and what it stands on: what the steps after asking need to know.
package struct OriginReply: Sendable {
    /// What the origin has to say.
    package var answer: OriginAnswer
    /// What the channel's pointer says of the release that was chosen; if none was, of the newest.
    var offered: OfferedRelease?
    /// What ``OriginAnswer/known(version:)`` stands for, if its document was read.
    var known: Release?
    /// The channel's pointer; nil for other formats and for an older copy.
    var sighting: SeenSequences.Sighting?
    /// Whether the pointer is an older copy: a cache or mirror is behind.
    package var isOlderCopy = false

    init(_ answer: OriginAnswer) { self.answer = answer }

    /// Why nothing is for this device, as far as that is the answer.
    package var reasons: [String] {
        if case .nothing(let reasons) = answer { reasons } else { [] }
    }
}
