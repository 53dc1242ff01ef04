import CASStore
import StrictJSON
import VersionTree

// Small documents of a store, replaced as a whole; a damaged one, which only another program can have written, counts
// as none.

extension VersionStore {
    private var root: Int32 { directories.root.raw }

    /// The value of the only member of a document.
    private func noted(_ key: String, in name: String) throws(StoreError) -> String? {
        guard try fileSystem.status(root, name)?.kind == .regular else { return nil }
        let bytes = try fileSystem.contents(root, name, limit: 4096)
        let document = try? JSONValue.parse(bytes)
        return document?[key]?.asString
    }

    private func note(_ key: String, _ text: String, in name: String) throws(StoreError) {
        let document = JSONValue.object([.init(key: key, value: .string(text))])
        try fileSystem.replaceFile(
            root, name, with: JSONWriter.serialize(document, sortedKeys: false),
            token: randomToken(), durably: store.options.isDurable)
    }

    // MARK: The device's name

    /// The device's name in gradual rollouts, drawn by this store because none was given; `nil` if none was needed yet.
    ///
    /// Kept in `device.json`, `{"device":"<32 hexadecimal digits>"}`, used only here and sent to nobody. Copies of a
    /// store that has one are the same device to every rollout.
    package var drawnDevice: String? {
        get throws(StoreError) {
            try noted("device", in: StoreLayout.device).flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The given name, or the drawn one; draws it if a rollout needs it.
    /// - Parameter isDrawing: whether the store may be changed.
    func deviceName(
        _ given: String?, for audience: Audience, isDrawing: Bool
    ) throws(StoreError) -> String? {
        guard given == nil, let rollout = audience.rollout, rollout.perMille < 1000 else {
            return given
        }
        if let known = try drawnDevice { return known }
        guard isDrawing else { return nil }
        let lock = try store.openLock(StoreLayout.channelsLock)
        try store.waitForLock(lock.raw, exclusive: true)
        // Another process may have drawn one meanwhile.
        if let known = try drawnDevice { return known }
        let drawn = try randomToken() + randomToken()
        try note("device", drawn, in: StoreLayout.device)
        return drawn
    }

    // MARK: The forced version that is pending

    /// The version that an app must show before it continues: a mandatory release, or the replacement of one that was
    /// never shown; `nil` if none is pending.
    ///
    /// Kept in `owed.json`, `{"version":"2"}`, so that closing the app does not evade the version.
    package var pendingForcedVersion: String? {
        get throws(StoreError) { try noted("version", in: StoreLayout.pendingForced) }
    }

    /// Notes durably what is pending from now on.
    func notePendingForced(_ version: String?) throws(StoreError) {
        guard try pendingForcedVersion != version else { return }
        if let version { return try note("version", version, in: StoreLayout.pendingForced) }
        try fileSystem.removeIfPresent(root, StoreLayout.pendingForced)
        try store.sync(root)
    }
}
