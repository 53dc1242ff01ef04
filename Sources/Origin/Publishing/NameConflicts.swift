import CASStore
import HotPush
import Storage
import VersionTree

// Names that conflict: a device refuses one of two versions whose names differ by case, or whose contents differ under one name.

extension WithdrawnVersion {
    /// Whether a device that has it would refuse a version.
    fileprivate func bars(_ version: PublishedVersion) -> Bool {
        let (mine, other) = (name.description, version.name.description)
        return mine.lowercased() == other.lowercased()
            && (mine != other || content != version.content)
    }
}

extension ChannelPointer {
    /// The pointer without withdrawn versions that bar this one; whoever adopts it has looked.
    func unbarring(
        _ version: PublishedVersion, _ notice: (String) -> Void
    ) -> ChannelPointer {
        guard withdrawn.contains(where: { $0.bars(version) }) else { return self }
        var next = self
        next.withdrawn = []
        let names = withdrawn.map(\.name.description).joined(separator: ", ")
        notice("channel \(channel) says no more that these were withdrawn: \(names)")
        return next
    }
}

extension OriginPublisher {
    /// The state upon which a version is published, if no name conflicts: with two, a device refuses one of them.
    ///
    /// Anybody can write names into a list of offered or withdrawn versions, so only those count that the publisher's
    /// keys have signed, or that it adopts with the channel. An `--adopt` required by such a name applies to what the
    /// keys have signed last, if that has it.
    /// - Parameter isSaid: as of ``trusted(_:_:_:isSaid:isRotating:)``.
    /// - Throws: `.versionExists`.
    func base(
        for version: PublishedVersion, in channel: ChannelName, _ state: OriginState,
        _ log: OriginLog, isSaid: Bool = true
    ) throws(StoreError) -> OriginState {
        var base = try trusted(state, channel, log, isSaid: isSaid)
        if options.signing.isSigning, options.signing.adopts {
            var other = self
            other.options.signing.adopts = false
            // Where others have changed the keys since, what these have signed last counts no more.
            let known = try allowing(
                [.untrusted], try other.trusted(state, channel, other.makeLog(), isSaid: false))
            if let known, try other.objection(to: version, in: channel, known) != nil {
                base = known
            }
        }
        if let objection = try objection(to: version, in: channel, base) { throw objection }
        return base
    }

    /// The error about a name that conflicts with a version.
    private func objection(
        to version: PublishedVersion, in channel: ChannelName, _ state: OriginState
    ) throws(StoreError) -> StoreError? {
        let signing = options.signing
        for pointer in state.pointers.values.sorted(by: { $0.channel < $1.channel }) {
            let offered = pointer.releases.compactMap(\.version)
                .map { WithdrawnVersion(name: $0.name, content: $0.content) }
            let other = offered.first { $0.bars(version) }
            let withdrawn = signing.adopts ? nil : pointer.withdrawn.first { $0.bars(version) }
            guard let name = (other ?? withdrawn)?.name else { continue }
            let origin = try signing.origin(at: storage, saidBy: state.pointers.values)
            let isOwn = !signing.isSigning || signing.knows(pointer, of: origin)
            guard isOwn || signing.adopts && pointer.channel == channel else { continue }
            let advice =
                "; no key that is known here has signed that: if it is not yours, leave --adopt out"
            return StoreError(
                .versionExists,
                other != nil
                    ? "channel \(pointer.channel) offers a version \(name) with other content; "
                        + "choose another name: devices that have it would rename or refuse this one\(isOwn ? "" : advice)"
                    : "a version \(name) with other content was withdrawn from channel \(pointer.channel), and devices "
                        + "that have it would rename or refuse this one; choose another name or, if nobody has withdrawn that (castree "
                        + "channels lists it), say --adopt")
        }
        return nil
    }
}
