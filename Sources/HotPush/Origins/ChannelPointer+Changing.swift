package import CASStore
package import VersionTree

// How a pointer changes: values in, a value out.

extension ChannelPointer {
    /// How many releases a pointer keeps, so that some are left when the newest are withdrawn.
    static let keptCount = 32

    /// The pointer of a channel that has none yet.
    ///
    /// Its sequence begins with the time, so that a lost origin continues above everything that devices have seen.
    package static func empty(_ channel: ChannelName, now: Int64) -> ChannelPointer {
        ChannelPointer(channel: channel, sequence: max(now - 1, 0), createdAt: now, releases: [])
    }

    /// Puts a release at the head and removes older ones of its version; `nil` if the pointer already offers this.
    /// - Parameter deliveryCount: how many of the newest releases keep their packs.
    package func offering(
        _ release: ChannelRelease, keepingDeliveries deliveryCount: Int = releaseCountMax,
        now: Int64
    ) -> ChannelPointer? {
        var release = release
        // A release that is offered again keeps its packs, even if none were made this time.
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

    /// Updates where an offered release's files are, in the same position and on the same terms.
    ///
    /// A release whose packs were dropped gets none.
    /// - Returns: `nil` if that changes nothing.
    package func mending(_ release: ChannelRelease, now: Int64) -> ChannelPointer? {
        changing(now) { mended in
            guard mended.version?.manifest == release.version?.manifest else { return }
            mended.target = release.target
            if mended.delivery != nil { mended.delivery = release.delivery ?? mended.delivery }
            mended.facts = release.facts ?? mended.facts
        }
    }

    private func changing(
        _ now: Int64, _ change: (inout ChannelRelease) -> Void
    ) -> ChannelPointer? {
        var next = advanced(now: now)
        let before = next.releases
        for position in releases.indices { change(&next.releases[position]) }
        return next.releases == before ? nil : next
    }

    package func offersOlder(_ version: PublishedVersion) -> Bool {
        guard releases.first?.version?.manifest != version.manifest else { return false }
        return releases.contains { $0.version?.manifest == version.manifest }
    }

    package func delivery(of manifest: ObjectID?) -> PublishedDelivery? {
        releases.first { $0.delivery != nil && $0.version?.manifest == manifest }?.delivery
    }

    package func facts(of manifest: ObjectID?) -> PublishedFacts? {
        releases.first { $0.facts != nil && $0.version?.manifest == manifest }?.facts
    }

    /// `nil` if that changes nothing.
    package func knowing(_ facts: [ObjectID: PublishedFacts], now: Int64) -> ChannelPointer? {
        changing(now) { release in
            guard let manifest = release.version?.manifest, let known = facts[manifest]
            else { return }
            release.facts = known
        }
    }

    /// `nil` if that changes nothing.
    package func delivering(
        _ manifest: ObjectID, by delivery: PublishedDelivery?, now: Int64
    ) -> ChannelPointer? {
        changing(now) { release in
            if release.version?.manifest == manifest { release.delivery = delivery }
        }
    }

    /// Takes a version's content out, under every name; `nil` if it does not offer that version.
    package func withdrawing(_ version: VersionName, now: Int64) -> ChannelPointer? {
        let versions = releases.compactMap(\.version)
        let contents = Set(versions.filter { $0.name == version }.map(\.content))
        guard !contents.isEmpty else { return nil }
        let others = versions.filter { $0.name != version && contents.contains($0.content) }
        let gone = versions.filter { $0.name == version } + others
        let names = Set(gone.map(\.name))
        var next = advanced(now: now)
        next.releases.removeAll { $0.version.map { names.contains($0.name) } ?? false }
        next.withdrawn = Array(
            (gone.map { WithdrawnVersion(name: $0.name, content: $0.content) }
                + withdrawn.filter { !names.contains($0.name) }).prefix(Self.withdrawnCountMax))
        return next
    }

    /// Keeps the newest `count` releases and others that some device can still reach; `nil` if that changes nothing.
    package func trimmed(to count: Int, now: Int64) -> ChannelPointer? {
        var next = advanced(now: now)
        next.trim(to: count)
        return next.releases.count == releases.count ? nil : next
    }

    package func renewed(now: Int64) -> ChannelPointer { advanced(now: now) }

    /// Whether this pointer of a log's entry 1 continues one of an older log.
    package func takesOver(_ old: ChannelPointer) -> Bool {
        log == nil && old.log != nil && releases == old.releases && sequence >= old.sequence
    }

    /// Raises the sequence of a channel that begins anew, together with its newest release's.
    package mutating func raise(to sequence: Int64) {
        if releases.first?.sequence == self.sequence { releases[0].sequence = sequence }
        self.sequence = sequence
    }

    /// Whether the sequence cannot come from counting, as it is beyond what devices remember.
    ///
    /// The latest of the clock and the times in the pointer decides, so that a slow clock does not revoke what others
    /// have counted. A signed pointer must be beyond all clocks: castree 0.1 remembers every verified sequence.
    private func isAheadOfTime(_ now: Int64) -> Bool {
        guard signatures.isEmpty else { return sequence > SequenceBound.countMax }
        return sequence > latestTime(now) + SequenceBound.lead
    }

    func latestTime(_ now: Int64) -> Int64 {
        var latest = now
        for time in [createdAt] + releases.map(\.createdAt) where time <= SequenceBound.timeMax {
            latest = max(latest, time)
        }
        return latest
    }

    /// Returns to sequences that devices remember; none has remembered those that are dropped.
    private mutating func comeBackToTime(_ now: Int64) {
        let time = latestTime(now)
        var counted = releases.map(\.sequence).filter { $0 <= time + SequenceBound.lead }
        counted.append(time)
        sequence = counted.max() ?? time
        // Releases are newest first, so the oldest that is ahead gets the lowest sequence.
        for position in releases.indices.reversed()
        where releases[position].sequence > time + SequenceBound.lead {
            sequence += 1
            releases[position].sequence = sequence
        }
    }

    private func advanced(now: Int64) -> ChannelPointer {
        var next = self
        if isAheadOfTime(now) { next.comeBackToTime(now) }
        // Never less than the time: an origin restored from a backup continues above everything that devices have seen.
        next.sequence = max(next.sequence + 1, min(now, SequenceBound.timeMax))
        // Devices remember the latest time of a signed pointer.
        next.createdAt =
            signatures.isEmpty || !SequenceBound.allows(createdAt, at: now)
            ? now : max(now, createdAt)
        next.signatures = []
        return next
    }

    private mutating func trim(to count: Int) {
        var kept: [ChannelRelease] = []
        for release in releases {
            var isHidden = false
            for newer in kept where release.isHidden(by: newer) { isHidden = true }
            if kept.count < count || !isHidden { kept.append(release) }
        }
        releases = Array(kept.prefix(Self.releaseCountMax))
    }
}

extension ChannelRelease {
    fileprivate func isSameOffer(as other: ChannelRelease) -> Bool {
        switch (target, other.target) {
        case (.embedded, .embedded): true
        case (.version(let mine), .version(let theirs)): mine.name == theirs.name
        default: false
        }
    }
}
