import CASStore
import HotPush
import Storage
import VersionTree

// Which origin is at a place: one key may sign for several.

extension PointerSigning {
    /// What a channel without a signed pointer takes over from others.
    func base(
        besides channel: ChannelName, _ pointers: [ChannelName: ChannelPointer],
        _ there: any ObjectStorage
    ) throws(StoreError) -> Base {
        let place = there.identity
        let others = pointers.values.filter { $0.channel != channel && $0.origin != nil }
        let required = try required
        let signed = others.filter { required.judge($0).objection == nil }
        let right = try self.origin(at: there, saidBy: pointers.values)
        let trusted = signed.filter { $0.origin == right ?? $0.origin }
        let ids = Set((adopts && trusted.isEmpty ? others : trusted).compactMap(\.origin))
        guard ids.count == 1 || others.isEmpty || origin != nil else {
            throw .untrusted(
                "the channels of \(place) do not say together which origin it is, signed by the keys that are trusted "
                    + "here; look at them, then use --adopt or --origin-id")
        }
        if origin != nil, trusted.isEmpty, let known = signed.compactMap(\.origin).min() {
            throw Self.foreign(known, place)
        }
        let trustVersion = trusted.compactMap(\.trustVersion).max()
        var known = origin ?? ids.first
        if known == nil { known = try remembered(place) }
        if known == nil { known = try lost(there) }
        guard let known else {
            return Base(origin: try randomToken() + randomToken(), trustVersion: trustVersion)
        }
        if pointers[channel] == nil, origin == nil, !adopts {
            for signer in signers {
                guard let last = try signer.memory?.sequence(of: channel, in: known) else {
                    continue
                }
                let there = try signer.memory?.place(of: channel, in: known)
                let which =
                    there.flatMap { $0 == place ? nil : " in \($0), and it is not in \(place)" }
                    ?? ", which is not in \(place) any more"
                throw .untrusted(
                    "key \(signer.key.id) has signed sequence \(last) of channel \(channel)\(which): if it is to begin "
                        + "anew, say --adopt")
            }
        }
        return Base(origin: known, trustVersion: trustVersion)
    }

    /// The id of the origin at a place; `nil` if nothing tells.
    ///
    /// Anybody can copy there what a known key has signed for another origin. So the one that was signed there last
    /// counts or, if the keys do not remember, the one that the marker names, if any of the pointers belongs to it.
    func origin(
        at there: any ObjectStorage, saidBy pointers: some Sequence<ChannelPointer>
    ) throws(StoreError) -> String? {
        if let origin { return origin }
        if let known = try remembered(there.identity) { return known }
        let all = Set(pointers.compactMap(\.origin))
        guard all.count > 1 else { return all.first }
        let signed = Set(pointers.filter(knowsSigner).compactMap(\.origin))
        guard signed.count > 1 else { return signed.first }
        return try there.markedIDIfReadable().flatMap { signed.contains($0) ? $0 : nil }
    }

    /// The id at a place whose pointers are unknown, from the keys' memory or the marker.
    func originOfPlace(_ there: any ObjectStorage) throws(StoreError) -> String? {
        if let origin { return origin }
        if let known = try remembered(there.identity) { return known }
        return try there.markedIDIfReadable()
    }

    /// - Throws: `.untrusted` for another origin than that of the place, or if nobody can tell which one it is.
    func checkOrigin(
        _ id: String, of pointers: [ChannelName: ChannelPointer], _ there: any ObjectStorage
    ) throws(StoreError) {
        guard origin == nil else { return }
        let place = there.identity
        if let right = try origin(at: there, saidBy: pointers.values) {
            guard right != id else { return }
            throw .untrusted(
                "\(place) says that it is the origin \(id), and what was signed there before belongs to \(right): somebody "
                    + "has copied a pointer of another origin here; look at it (castree channels), then say --adopt "
                    + "--origin-id \(right)")
        }
        let others = pointers.values.filter { $0.origin ?? id != id && knowsSigner(of: $0) }
        guard let other = others.compactMap(\.origin).min() else { return }
        throw .untrusted(
            "the channels of \(place) belong to different origins (\(id), \(other)): somebody has copied a pointer "
                + "of another one here; look at them, then say --origin-id")
    }

    private func remembered(_ place: String) throws(StoreError) -> String? {
        for memory in signers.compactMap(\.memory) {
            if let origin = try memory.origin(at: place) { return origin }
        }
        return nil
    }

    /// The id of an origin of which only the marker is left; `nil` for one that was never signed.
    private func lost(_ there: any ObjectStorage) throws(StoreError) -> String? {
        guard let marked = try there.markedID() else { return nil }
        guard adopts else {
            throw .untrusted(
                "\(there.identity) says that it is the origin \(marked), and none of its pointers is signed any more; if that is "
                    + "right, say --origin-id \(marked), else --origin-id with the one that devices remember"
            )
        }
        return marked
    }
}
