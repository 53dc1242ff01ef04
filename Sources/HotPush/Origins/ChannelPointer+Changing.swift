import CASStore
import VersionTree

// How a pointer changes: values in, a value out.

extension ChannelPointer {
    /// How many releases a pointer keeps: enough to come back to when the newest are withdrawn.
    static let keptCount = 32

    /// The pointer of a channel that has none yet.
    ///
    /// Its first sequence is the time: an origin that was lost and is made again elsewhere
    /// continues above everything that devices have seen.
    static func empty(_ channel: ChannelName, now: Int64) -> ChannelPointer {
        ChannelPointer(
            channel: channel, sequence: max(now - 1, 0), createdAt: now, releases: [])
    }

    /// The pointer with a release at its head; `nil` if it already offers exactly this.
    ///
    /// Drops an older entry of the version: each version is offered once.
    /// - Parameter deliveryCount: how many releases keep their packs, the newest.
    func offering(
        _ release: OfferedRelease, keepingDeliveries deliveryCount: Int = releaseCountMax,
        now: Int64
    ) -> ChannelPointer? {
        var release = release
        // A release keeps its packs: who offers it again may have made none this time.
        release.delivery = release.delivery ?? delivery(of: release.version?.manifest)
        release.facts = release.facts ?? facts(of: release.version?.manifest)
        if let head = releases.first {
            release.sequence = head.sequence
            release.createdAt = head.createdAt
            if head.target == release.target {
                release.foreign = head.foreign
            }
            if head == release, !isAheadOfTime(now) { return nil }
        }
        var next = advanced(now: now)
        release.sequence = next.sequence
        release.createdAt = now
        next.releases.removeAll { $0.isSameOffer(as: release) }
        next.releases.insert(release, at: 0)
        next.withdrawn.removeAll { $0.name == release.version?.name }
        next.trim(to: Self.keptCount)
        for position in next.releases.indices.dropFirst(max(deliveryCount, 1)) {
            next.releases[position].delivery = nil
        }
        return next
    }

    /// The pointer in which a release that is offered says where its files are by now, at the same place and under the
    /// same terms; `nil` if that changes nothing.
    ///
    /// A release that keeps no packs any more gets none.
    func mending(_ release: OfferedRelease, now: Int64) -> ChannelPointer? {
        changing(now) { mended in
            guard mended.version?.manifest == release.version?.manifest else { return }
            mended.target = release.target
            if mended.delivery != nil { mended.delivery = release.delivery ?? mended.delivery }
            mended.facts = release.facts ?? mended.facts
        }
    }

    /// The pointer with releases that are changed where they stand; `nil` if nothing changes.
    private func changing(
        _ now: Int64, _ change: (inout OfferedRelease) -> Void
    ) -> ChannelPointer? {
        var next = advanced(now: now)
        let before = next.releases
        for position in releases.indices { change(&next.releases[position]) }
        return next.releases == before ? nil : next
    }

    /// Whether a version is offered, and others after it.
    func offersOlder(_ version: PublishedVersion) -> Bool {
        guard releases.first?.version?.manifest != version.manifest else { return false }
        return releases.contains { $0.version?.manifest == version.manifest }
    }

    /// The delivery of the release with a manifest, wherever it stands.
    func delivery(of manifest: ObjectID?) -> PublishedDelivery? {
        releases.first { $0.delivery != nil && $0.version?.manifest == manifest }?.delivery
    }

    /// The facts of the release with a manifest, wherever it stands.
    func facts(of manifest: ObjectID?) -> PublishedFacts? {
        releases.first { $0.facts != nil && $0.version?.manifest == manifest }?.facts
    }

    /// The pointer whose releases have these facts, by their manifests; `nil` if that changes nothing.
    func knowing(_ facts: [ObjectID: PublishedFacts], now: Int64) -> ChannelPointer? {
        changing(now) { release in
            guard let manifest = release.version?.manifest, let known = facts[manifest]
            else { return }
            release.facts = known
        }
    }

    /// The pointer whose releases of a manifest have that delivery, wherever they stand; `nil` if that changes
    /// nothing.
    func delivering(
        _ manifest: ObjectID, by delivery: PublishedDelivery?, now: Int64
    ) -> ChannelPointer? {
        changing(now) { release in
            if release.version?.manifest == manifest { release.delivery = delivery }
        }
    }

    /// The pointer without a version; `nil` if it does not offer that version.
    func withdrawing(_ version: VersionName, now: Int64) -> ChannelPointer? {
        var next = advanced(now: now)
        let gone = next.releases.compactMap(\.version).filter { $0.name == version }
        next.releases.removeAll { $0.version?.name == version }
        let names = gone.map { WithdrawnVersion(name: $0.name, content: $0.content) }
        next.withdrawn = Array(
            (names + withdrawn.filter { $0.name != version }).prefix(Self.withdrawnCountMax))
        return next.releases.count == releases.count ? nil : next
    }

    /// The pointer with the newest `count` releases and those that some device can still reach;
    /// `nil` if that changes nothing.
    func trimmed(to count: Int, now: Int64) -> ChannelPointer? {
        var next = advanced(now: now)
        next.trim(to: count)
        return next.releases.count == releases.count ? nil : next
    }

    /// The same pointer once more, to be signed anew.
    func renewed(now: Int64) -> ChannelPointer { advanced(now: now) }

    /// Whether it is in entry 1 of a log what a pointer of an older log was.
    func takesOver(_ old: ChannelPointer) -> Bool {
        log == nil && old.log != nil && releases == old.releases && sequence >= old.sequence
    }

    /// Raises the sequence of a channel that begins anew, and that of its newest release with it.
    mutating func raise(to sequence: Int64) {
        if releases.first?.sequence == self.sequence { releases[0].sequence = sequence }
        self.sequence = sequence
    }

    /// Whether the sequence cannot come from counting: it is beyond what devices remember.
    ///
    /// Judged by the latest of the clock and the times in the pointer: a publisher whose clock is
    /// behind must not take back what others have counted. A signed one is so only beyond all clocks: castree 0.1 remembers
    /// each sequence that it has verified.
    private func isAheadOfTime(_ now: Int64) -> Bool {
        guard signatures.isEmpty else { return sequence > SequenceBound.countMax }
        return sequence > latestTime(now) + SequenceBound.lead
    }

    /// The latest of a time and those in the pointer.
    func latestTime(_ now: Int64) -> Int64 {
        var latest = now
        for time in [createdAt] + releases.map(\.createdAt) where time <= SequenceBound.timeMax {
            latest = max(latest, time)
        }
        return latest
    }

    /// Returns to sequences that devices remember: no device has remembered those that are dropped.
    private mutating func comeBackToTime(_ now: Int64) {
        let time = latestTime(now)
        var counted = releases.map(\.sequence).filter { $0 <= time + SequenceBound.lead }
        counted.append(time)
        sequence = counted.max() ?? time
        // The newest come first, so the oldest of those that are ahead gets the lowest sequence.
        for position in releases.indices.reversed()
        where releases[position].sequence > time + SequenceBound.lead {
            sequence += 1
            releases[position].sequence = sequence
        }
    }

    private func advanced(now: Int64) -> ChannelPointer {
        var next = self
        if isAheadOfTime(now) { next.comeBackToTime(now) }
        // Each change is at least the time: an origin that comes back from a backup goes on above all that devices have seen.
        next.sequence = max(next.sequence + 1, min(now, SequenceBound.timeMax))
        // Devices remember the latest time of a signed one.
        next.createdAt =
            signatures.isEmpty || !SequenceBound.allows(createdAt, at: now)
            ? now : max(now, createdAt)
        next.signatures = []
        return next
    }

    private mutating func trim(to count: Int) {
        var kept: [OfferedRelease] = []
        for release in releases {
            var isHidden = false
            for newer in kept where release.isHidden(by: newer) { isHidden = true }
            if kept.count < count || !isHidden { kept.append(release) }
        }
        releases = Array(kept.prefix(Self.releaseCountMax))
    }
}

extension OfferedRelease {
    fileprivate func isSameOffer(as other: OfferedRelease) -> Bool {
        switch (target, other.target) {
        case (.embedded, .embedded): true
        case (.version(let mine), .version(let theirs)): mine.name == theirs.name
        default: false
        }
    }
}
