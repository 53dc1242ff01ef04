public import CASStore

extension Publisher {
    /// Deletes what no channel offers: old releases, then deliveries, packs, manifests, objects.
    ///
    /// What no pointer names any longer is deleted before a byte is written, so that a full disk has room
    /// for the pointers and the notes; the rest follows. If it is killed half-way, every channel is as it
    /// was or as it will be, and the next call continues. If a pointer or a manifest to be kept cannot be
    /// read, nothing is deleted.
    ///
    /// - Returns: the plan that was carried out.
    /// - Throws: `.noOrigin`; `.badPointer`; `.damagedOrigin`; `.busy`, `.interrupted`; `.outOfSpace` if
    ///   there is no room for the pointers even then.
    @discardableResult
    public func collect(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> OriginCollectionPlan {
        let advice = "nothing that a channel offers is gone; make room in \(printable(path))"
        return try withAdvice(advice) { () throws(StoreError) in try carryOut(retention) }
    }

    private func carryOut(_ retention: OriginRetention) throws(StoreError) -> OriginCollectionPlan {
        let origin = try OriginWriter(path, isCreating: false, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        let kinds = try kinds(in: origin)
        var (plan, notes) = try makeCollectionPlan(retention, of: kinds, in: origin)
        // Before anything is deleted for what could not be written.
        for pointer in plan.pointers where notes.pointers[pointer.channel]?.isSigned ?? false {
            try checkSigning(pointer.channel, upon: notes.pointers)
        }
        for delta in plan.deltas {
            try origin.removeIfPresent(
                origin.manifests.raw, OriginLayout.deltaFile(delta.manifest, from: delta.base))
        }
        var late: Set<ObjectID> = []
        if !plan.pointers.isEmpty {
            for kind in kinds { late.formUnion(try kind.named(plan, by: notes.pointers.values)) }
        }
        for kind in kinds { try kind.delete(plan) { !late.contains($0) } }
        for pointer in plan.pointers { try write(pointer, upon: notes.pointers, to: origin) }
        if notes.known != notes.before { try notes.known.write(in: origin) }
        if !late.isEmpty {
            for kind in kinds { try kind.delete(plan, where: late.contains) }
        }
        if !plan.leftovers.isEmpty, let telling = options.telling {
            // Writing the pointers may have told again what nobody knew of.
            let unneeded = Set(try telling.leftovers(in: origin.originPlace))
            plan.leftovers.removeAll { !unneeded.contains($0) }
        }
        for path in plan.leftovers { try origin.originPlace.remove(path) }
        // Derived; the next one tries again.
        try? PackCollection(in: origin)?.dropUnused()
        return plan
    }

    /// What is collected, in the order in which it goes: nothing of the first two keeps an object.
    private func kinds(in origin: OriginWriter) throws(StoreError) -> [any CollectedFiles] {
        let kinds: [(any CollectedFiles)?] = [
            try origin.unlessClosed { () throws(StoreError) in try PackCollection(in: origin) },
            try origin.unlessClosed { () throws(StoreError) in try FactsCollection(in: origin) },
            try ManifestCollection(in: origin),
        ]
        return kinds.compactMap(\.self)
    }

    /// Writes a pointer that lists fewer releases; one that nobody had signed stays so.
    private func write(
        _ pointer: ChannelPointer, upon pointers: [ChannelName: ChannelPointer],
        to origin: OriginWriter
    ) throws(StoreError) {
        if pointers[pointer.channel]?.isSigned ?? false {
            try origin.write(pointer, upon: pointers)
        } else {
            try origin.write(sealed: pointer, upon: pointers[pointer.channel])
        }
    }

    /// What collecting would delete; deletes nothing.
    ///
    /// Waits for a publisher that is at work, and needs no right to write: where it cannot open the lock, it looks without.
    /// - Throws: as ``collect(_:)``.
    public func planCollection(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> OriginCollectionPlan {
        let origin = try OriginWriter(lookingAt: path, options, fileSystem)
        defer { withExtendedLifetime(origin) {} }
        return try makeCollectionPlan(retention, of: kinds(in: origin), in: origin).plan
    }

    private typealias Notes = (
        before: UnreferencedManifests, known: UnreferencedManifests,
        pointers: [ChannelName: ChannelPointer]
    )

    private func makeCollectionPlan(
        _ retention: OriginRetention, of kinds: [any CollectedFiles], in origin: OriginWriter
    ) throws(StoreError) -> (plan: OriginCollectionPlan, notes: Notes) {
        let now = now()
        var plan = OriginCollectionPlan()
        let pointers: [ChannelName: ChannelPointer]
        do throws(StoreError) { pointers = try origin.pointers() } catch {
            throw StoreError(
                error.code,
                "nothing of \(printable(path)) is deleted while a pointer cannot be read, since nobody knows what its channel "
                    + "offers: \(error.message)", cause: error.cause)
        }
        var after = pointers
        for (_, pointer) in pointers.sorted(by: { $0.key < $1.key }) {
            guard let trimmed = trimmed(pointer, to: retention, now) else { continue }
            plan.pointers.append(trimmed)
            plan.releaseCount += pointer.releases.count - trimmed.releases.count
            after[trimmed.channel] = trimmed
        }
        let before = try UnreferencedManifests.read(in: origin)
        let latest = pointers.values.map { $0.latestTime(0) }.max() ?? 0
        let judged = before.judged(at: now, latest: latest, grace: retention.graceSeconds)
        var known = UnreferencedManifests()
        known.behind = judged.behind
        plan.deltas = try origin.fileSystem.names(in: origin.manifests.raw)
            .compactMap(OriginLayout.delta(ofFile:))
            .sorted { ($0.manifest, $0.base) < ($1.manifest, $1.base) }
        plan.leftovers = try options.telling?.leftovers(in: origin.originPlace) ?? []
        for kind in kinds {
            let (before, noted) = (plan, known)
            let isPlanned: Void? = try origin.unlessClosed(kind.isDerived) {
                () throws(StoreError) in
                try kind.plan(&plan, &known, after.values, retention, since: judged, now: now)
            }
            if isPlanned == nil { (plan, known) = (before, noted) }
        }
        if known.isEmpty { known.behind = 0 }
        return (plan, (before, known, pointers))
    }

    /// The pointer with fewer releases; `nil` if that changes nothing, or it is signed and nobody signs now.
    private func trimmed(
        _ pointer: ChannelPointer, to retention: OriginRetention, _ now: Int64
    ) -> ChannelPointer? {
        let sealing = options.sealing
        guard !pointer.isSigned || sealing.isSigning || sealing.allowsFewer else { return nil }
        return pointer.trimmed(to: max(retention.releaseCount, 1), now: now)
    }
}
