package import CASStore

extension Rollout {
    /// Whether a device gets the release.
    ///
    /// A device's place is the first 8 bytes of SHA-256(salt, NUL, device), as a big-endian number,
    /// modulo 1000; it gets the release if its place is below the share. So a larger share never takes
    /// a device out, and another salt chooses other devices.
    ///
    /// - Parameters:
    ///   - salt: makes the choice differ from release to release.
    ///   - device: names the device for ever; not a secret, not a number that identifies a person.
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
