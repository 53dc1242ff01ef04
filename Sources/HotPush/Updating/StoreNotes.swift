import CASStore
import StrictJSON
import VersionTree

// What a store notes in a small document of its own, which is replaced as a whole: a damaged one, which only another program
// can have written, counts as none.

extension VersionStore {
    private var root: Int32 { directories.root.raw }

    /// The text of the only member of a document; `nil` if there is none.
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

    /// The device's name in gradual roll-outs that this store has drawn, where nobody gave it one; `nil` if none has asked
    /// for it yet.
    ///
    /// Drawn once and kept in `device.json`, `{"device":"<32 hexadecimal digits>"}`: it chooses among offers here and is
    /// sent to nobody. Two copies of a store that has one are the same device to every roll-out.
    package var drawnDevice: String? {
        get throws(StoreError) {
            try noted("device", in: StoreLayout.device).flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The device's name for a choice: the given one, or what the store has drawn; drawn now if a roll-out asks for it.
    ///
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

    // MARK: What is owed

    /// The version that an app must show before it goes on: a mandatory release, or the replacement of one that was never
    /// shown; `nil` if nothing is owed.
    ///
    /// `owed.json`, `{"version":"2"}`, exists as long as there is such a version: closing the app before it shows the
    /// version must not get around it.
    package var owedVersion: String? {
        get throws(StoreError) { try noted("version", in: StoreLayout.owed) }
    }

    /// Notes durably what is owed from now on.
    func owe(_ version: String?) throws(StoreError) {
        guard try owedVersion != version else { return }
        if let version { return try note("version", version, in: StoreLayout.owed) }
        try fileSystem.removeIfPresent(root, StoreLayout.owed)
        try store.sync(root)
    }
}
