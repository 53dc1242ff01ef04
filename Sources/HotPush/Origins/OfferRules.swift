import CASStore

// Rules for the conditions of an offer, whoever wrote them.

extension Rollout {
    static let saltByteCountMax = 128

    /// The rule that it breaks; `nil` if none.
    package var problem: String? {
        if !(0...1000).contains(perMille) { return "a roll-out is from 0 to 1000 per mille" }
        if salt.utf8.count > Self.saltByteCountMax {
            return "the salt of a roll-out has at most \(Self.saltByteCountMax) bytes"
        }
        if rule != Self.ownRule {
            return "a channel chooses devices by castree's own rule, not by \(printable(rule))"
        }
        return nil
    }
}

extension ChannelRelease {
    var audience: Audience {
        var audience = Audience()
        audience.rollout = rollout
        return audience
    }
}

extension Requirement {
    /// Required by a release with an epoch: to know that its objects are not where older castrees look.
    package static let knowingEpochs = Requirement(kind: epochs, value: "1")
    /// The kind of ``knowingEpochs``, which castree adds to every pointer that needs it.
    package static let epochs = "epochs"
}

extension ChannelRelease {
    var writtenRequirements: [Requirement] {
        // A later castree may have written a stricter requirement of this kind.
        guard let version, version.epoch > 0, !requirements.haveEpochs else { return requirements }
        return requirements + [.knowingEpochs]
    }
}

extension [Requirement] {
    private static let countMax = 32
    private static let kindByteCountMax = 64
    private static let valueByteCountMax = 256

    /// The rule that they break; `nil` if none.
    package var problem: String? {
        if count > Self.countMax { return "there are more than \(Self.countMax) requirements" }
        var kinds: Set<String> = []
        for requirement in self {
            let kind = Array<UInt8>(requirement.kind.utf8)
            guard (1...Self.kindByteCountMax).contains(kind.count) else {
                return "the kind of a requirement has 1 to \(Self.kindByteCountMax) characters"
            }
            for byte in kind where !Self.isKindByte(byte) {
                return "\"\(printable(requirement.kind))\" cannot be the kind of a requirement: "
                    + "only letters, digits and . _ - are allowed"
            }
            if requirement.value.utf8.count > Self.valueByteCountMax {
                return "a requirement has at most \(Self.valueByteCountMax) bytes"
            }
            if !kinds.insert(requirement.kind).inserted {
                return "there are two requirements of the kind \(requirement.kind)"
            }
        }
        return nil
    }

    fileprivate var haveEpochs: Bool {
        contains { $0.kind.utf8.elementsEqual(Requirement.epochs.utf8) }
    }

    /// Why a publisher may not ask for them; `nil` if it may.
    package var problemOfOffer: String? {
        if haveEpochs {
            return "castree writes the requirement \(Requirement.epochs) itself, where it is needed"
        }
        if count >= Self.countMax { return "there are more than \(Self.countMax - 1) requirements" }
        return problem
    }

    private static func isKindByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            || byte == 45 || byte == 46 || byte == 95
    }
}
