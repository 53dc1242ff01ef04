import CASStore

/// What an origin answers.
public enum OriginAnswer: Sendable {
    /// The origin offers a release.
    case release(FoundRelease)
    /// The origin offers content that a version of the store has, so its manifest was not fetched.
    case known(version: String)
    /// Devices should run the version that was shipped with the app.
    case embedded
    /// Nothing is for this device; one reason for each release.
    case nothing([String])
}

package struct PassedOverRelease: Sendable, Hashable {
    package let version: String
    package let perMille: Int

    package var sentence: String {
        "version \(version) is passed over: so far it is for \(perMille) of 1,000 devices, and not for this one"
    }
}

/// An origin's answer, and the basis that later steps need.
package struct OriginReply: Sendable {
    package var answer: OriginAnswer
    /// The chosen release as the channel's pointer offers it; without one, the newest.
    var offered: ChannelRelease?
    /// The release behind ``OriginAnswer/known(version:)``, if its document was read.
    var known: Release?
    /// The channel's pointer; nil for other formats and for an older copy.
    var observation: SeenSequences.Observation?
    /// The ids of the trusted keys that signed the channel's pointer; empty if the store accepts unsigned releases.
    package var signers: [String] = []
    /// Partial rollouts that do not include this device.
    package var passedOver: [PassedOverRelease] = []
    package var isOlderCopy = false

    init(_ answer: OriginAnswer) { self.answer = answer }

    static func olderCopy(_ pointer: ChannelPointer, than newer: Int64) -> OriginReply {
        var reply = OriginReply(
            .nothing([
                "the channel's pointer is an older copy: its sequence is \(pointer.sequence), "
                    + "and \(newer) was seen before; a cache or mirror may be behind, or a backup was "
                    + "put back: then castree publish --adopt of what is offered continues above it"
            ]))
        reply.isOlderCopy = true
        return reply
    }

    /// Whether the reply still offers the release that is here by now as `version`.
    func stillOffers(_ offer: FoundRelease, as version: String) -> Bool {
        switch answer {
        case .known(let name): name == version
        case .release(let found): found.isSame(as: offer)
        case .embedded, .nothing: false
        }
    }

    /// Whether the publisher requires the release before the app may continue.
    package var isMandatory: Bool {
        switch answer {
        case .release(let found): found.release.isMandatory
        case .known: known?.isMandatory ?? offered?.isMandatory ?? false
        case .embedded: offered?.isMandatory ?? false
        case .nothing: false
        }
    }

    package var reasons: [String] {
        if case .nothing(let reasons) = answer { reasons } else { [] }
    }
}
