import CASStore
import StrictJSON
import VersionTree

/// The device's name in gradual roll-outs, where nobody gives it one.
///
/// Drawn once and kept in `device.json` of the store, `{"device":"<32 hexadecimal digits>"}`: it chooses among offers
/// here and is sent to nobody. Two copies of a store that has one are the same device to every roll-out.
struct DeviceIdentity {
    private let versions: VersionStore

    init(_ versions: VersionStore) { self.versions = versions }

    private var root: Int32 { versions.directories.root.raw }

    /// The one that was drawn; `nil` if none was, or the file is damaged: then another one is drawn.
    func read() throws(StoreError) -> String? {
        guard try versions.fileSystem.status(root, StoreLayout.device)?.kind == .regular else {
            return nil
        }
        let bytes = try versions.fileSystem.contents(root, StoreLayout.device, limit: 4096)
        // It is replaced as a whole: only another program can have written what is no JSON.
        let document = try? JSONValue.parse(bytes)
        return document?["device"]?.asString.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The one that was drawn, or a new one.
    func readOrDraw() throws(StoreError) -> String {
        if let known = try read() { return known }
        let lock = try versions.store.openLock(StoreLayout.channelsLock)
        try versions.store.waitForLock(lock.raw, exclusive: true)
        // Another process may have drawn one meanwhile.
        if let known = try read() { return known }
        let drawn = try randomToken() + randomToken()
        let document = JSONValue.object([.init(key: "device", value: .string(drawn))])
        try versions.fileSystem.replaceFile(
            root, StoreLayout.device, with: JSONWriter.serialize(document, sortedKeys: false),
            token: randomToken(), durably: versions.store.options.isDurable)
        return drawn
    }
}

extension VersionStore {
    /// The device's name in roll-outs that this store has drawn; `nil` if none has asked for it yet.
    package var drawnDevice: String? {
        get throws(StoreError) { try DeviceIdentity(self).read() }
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
        let identity = DeviceIdentity(self)
        return try isDrawing ? identity.readOrDraw() : identity.read()
    }
}
