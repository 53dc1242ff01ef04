import StorageTestSupport

@testable import HotPush
@testable import VersionTree

/// What a device remembers of what trusted keys have signed, and what nobody can make it remember.
@Suite("What was verified") struct VerifiedMemoryTests {
    /// What a stolen key, or a clock that is ahead, can put into a pointer.
    enum Poison: CaseIterable {
        case largest, tenYears, sequenceOfAYear, time, timeOfAYear

        func change(_ pointer: inout ChannelPointer, now: Int64) {
            let year = SequenceBound.lead
            switch self {
            case .largest: pointer.sequence = ChannelPointer.sequenceMax
            case .tenYears: pointer.sequence = now + 10 * year
            case .sequenceOfAYear: pointer.sequence = now + year
            case .time: pointer.createdAt = now + 10 * year
            case .timeOfAYear: pointer.createdAt = now + year
            }
        }

        /// Whether a clock that is a little wrong could have made it: it is remembered.
        var isCredible: Bool { self == .sequenceOfAYear || self == .timeOfAYear }
    }

    @Test(
        "ends no updates, whatever one pointer says, in its channel and in the others",
        arguments: SignedOrigin.Kind.allCases, Poison.allCases)
    func bounded(_ kind: SignedOrigin.Kind, _ poison: Poison) throws {
        for channel in ["stable", "beta"] {
            // The device's events and versions tell the time of the machine.
            let origin = try SignedOrigin(kind)
            origin.now = secondsNow()
            try origin.offer("1")
            _ = try origin.pull()
            let bad = try origin.signed(origin.publish("1", to: channel)) {
                poison.change(&$0, now: origin.now)
            }
            origin.write(bad, at: "channels/\(channel).json")
            _ = try origin.pull { $0.channel = channel }
            let honest = try origin.signed(origin.publish("2")) { $0.expiresAt = origin.now + 100 }
            origin.write(honest, at: SignedOrigin.pointer)
            if poison.isCredible, channel == "stable" || poison == .timeOfAYear {
                // A person can tell what is wrong, and lower it.
                _ = refusal { try origin.pull() }
                try expect(origin.device.versions.lifecycle().current, equals: "1")
                try origin.device.versions.changeTrust { (trust) throws(StoreError) in
                    trust.origins[0].forgetVerified()
                }
            }
            try expect(origin.pull()?.version, equals: "2", "\(channel)")
            let sequence = try ChannelPointer(parsing: honest, of: .stable).sequence
            try expect(origin.trusted?.sequences["stable"], equals: sequence)
        }
    }

    @Test(
        "ends with the rotation that removes a key, and nothing from before it comes back",
        arguments: SignedOrigin.Kind.allCases, Poison.allCases)
    func rotated(_ kind: SignedOrigin.Kind, _ poison: Poison) throws {
        let origin = try SignedOrigin(kind)
        origin.now = secondsNow()
        let first = try origin.offer("1")
        _ = try origin.pull()
        try origin.offer("1") { poison.change(&$0, now: origin.now) }
        _ = try origin.pull()
        let next = try SigningKey.generate()
        try origin.write(2, [next], by: origin.keys + [next])
        let honest = try origin.signed(origin.publish("2"), by: [next]) {
            ($0.trustVersion, $0.expiresAt) = (2, origin.now + 100)
        }
        origin.write(honest, at: SignedOrigin.pointer)
        try expect(origin.pull()?.version, equals: "2")
        let sequence = try ChannelPointer(parsing: honest, of: .stable).sequence
        try expect(origin.trusted?.sequences, equals: ["stable": sequence])
        origin.write(first, at: SignedOrigin.pointer)
        expectRefusal(.untrusted) { try origin.pull() }
    }

    @Test func `that castree 0.1 has kept without a bound stops nothing`() throws {
        let origin = try SignedOrigin()
        origin.now = secondsNow()
        try origin.offer("1") { $0.expiresAt = origin.now + 100 }
        try origin.device.versions.changeTrust { (trust) throws(StoreError) in
            trust.origins[0].sequences["stable"] = ChannelPointer.sequenceMax
            trust.origins[0].latest = origin.now + 10 * SequenceBound.lead
        }
        try expect(origin.pull()?.version, equals: "1")
        try expect(origin.trusted?.latest ?? 0 <= origin.now)
    }

    @Test func `says until when the last pointer may be obeyed, with the grace`() throws {
        let origin = try SignedOrigin()
        try origin.offer("1") { $0.expiresAt = origin.now + 100 }
        _ = try origin.pull { $0.expiryGrace = .seconds(50) }
        try expect(origin.trusted?.ends, equals: ["stable": origin.now + 150])
        try origin.offer("2")
        _ = try origin.pull()
        try expect(origin.trusted?.ends, equals: [:])
    }
}
