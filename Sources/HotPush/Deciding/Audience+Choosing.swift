package import CASStore

extension Audience {
    /// Why a device does not get the release, as sentences about the release; empty if it does.
    /// - Parameter device: its name in rollouts; nil for a device that takes part in none.
    func objections(device: String?, _ app: AppTraits) throws(StoreError) -> [String] {
        var reasons: [String] = []
        if isDisabled { reasons.append("its publisher has disabled it") }
        if !groups.isEmpty, app.groups.isDisjoint(with: groups) {
            let names = groups.prefix(3).map { "\"\(printable($0))\"" }.joined(separator: ", ")
            reasons.append(
                "it is for \(names)\(groups.count > 3 ? " and others" : "") only, and this device does not claim to be one of them"
            )
        }
        if let rollout, try !rollout.includes(device) {
            reasons.append(
                "it is rolled out to \(rollout.share) of the devices, and not to this one yet")
        }
        return reasons
    }
}

extension Rollout {
    fileprivate var share: String {
        perMille % 10 == 0 ? "\(perMille / 10) %" : "\(perMille / 10).\(perMille % 10) %"
    }

    /// A device's place among 1,000, which must be below a rollout's share.
    ///
    /// The first 8 bytes of SHA-256(salt, NUL, device) as a big-endian number, modulo 1000. So a larger share never
    /// excludes a device, and another salt chooses other devices.
    /// - Parameters:
    ///   - salt: makes the choice differ from release to release.
    ///   - device: a permanent name; neither a secret nor a number that identifies a person.
    package static func place(salt: String, device: String) throws(StoreError) -> Int {
        let bytes = Array(salt.utf8) + [0] + Array(device.utf8)
        let digest = try Digester.digest(.sha256, of: bytes)
        return Int(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1000)
    }

    /// Whether a device gets the release; a device without a name gets it only if all do.
    package func includes(_ device: String?) throws(StoreError) -> Bool {
        if perMille >= 1000 { return true }
        guard let device, perMille > 0, rule == Self.ownRule else { return false }
        return try Self.place(salt: salt, device: device) < perMille
    }
}
