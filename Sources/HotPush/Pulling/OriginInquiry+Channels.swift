import CASStore
import VersionTree

// What the channels of castree's own origins offer to this device.

extension OriginInquiry {
    /// Asks again if a publisher has pruned the offer and changed the pointer meanwhile.
    /// - Parameter pastCaches: whether to bypass caches; repeated requests always do.
    /// - Returns: a failure if there is no such channel, as far as this device may know.
    /// - Throws: `.notFound` if something that the channel names is gone; else what reading and planning throw.
    func askChannel(
        _ channel: ChannelName, at origin: OriginLocation, pastCaches: Bool
    ) throws(StoreError) -> Result<OriginReply, NoPointer> {
        var judged: JudgedPointer
        switch try askPointer(of: channel, at: origin, pastCaches: pastCaches) {
        case .success(let pointer): judged = pointer
        case .failure(let answer): return .failure(answer)
        }
        for _ in 0..<Self.overtakenCountMax {
            do throws(StoreError) {
                return .success(try reply(to: judged, at: origin))
            } catch {
                guard error.code == .notFound else { throw error }
                // If this fails, the first failure says more.
                let asked = try unlessInterrupted { () throws(StoreError) in
                    try askPointer(of: channel, at: origin, pastCaches: true)
                }
                guard case .success(let next) = asked, next.pointer != judged.pointer else {
                    throw error
                }
                judged = next
            }
        }
        return .success(try reply(to: judged, at: origin))
    }

    /// A channel that changes more often during one pull is left to the next.
    private static let overtakenCountMax = 2

    private func askPointer(
        of channel: ChannelName, at origin: OriginLocation, pastCaches: Bool
    ) throws(StoreError) -> Result<JudgedPointer, NoPointer> {
        let memory = try KeptAnswer(
            pointerOf: channel, at: origin, versions, isChanging: !options.isDryRun)
        // With `--force`, the origin must answer, not a kept pointer.
        var kept = options.isForced ? nil : try memory.pointer()
        if kept?.isStale(options.now()) == true { kept = nil }
        var answer = try access.document(
            OriginLayout.pointer(channel), at: origin,
            byteCountMax: Int64(ChannelPointer.byteCountMax), unless: kept?.tag,
            pastCaches: pastCaches)
        let isKept = answer.head.status == 304
        if isKept, let kept {
            answer.head.status = 200
            answer.bytes = kept.bytes
        }
        guard answer.isDocument else {
            guard answer.isMissing else {
                if let type = answer.pageType { throw page(type, insteadOf: origin) }
                throw ReleaseProblem.noAnswer(
                    "\(origin.description) answered \(answer.head.status) when asked for its channel "
                        + "\"\(channel)\"\(adviceOnScheme(answer.head.status, origin))",
                    answer.head.status)
            }
            return .failure(NoPointer(status: answer.head.status, page: answer.pageType))
        }
        let cameAt = ContinuousClock.now
        var judged = try judge.judged(answer.bytes, of: channel, at: origin)
        judged.cameAt = cameAt
        let isCurrent = judged.state.newer == nil && judge.expired(judged.state) == nil
        // An unchanged pointer keeps its age, whether the server answers 304 or sends it again.
        if !isKept, isCurrent, let tag = answer.head.tag,
            tag != kept?.tag || answer.bytes != kept?.bytes
        {
            memory.keep(KeptAnswer.Pointer(tag: tag, bytes: answer.bytes, cameAt: options.now()))
        }
        return .success(judged)
    }

    private func reply(
        to judged: JudgedPointer, at origin: OriginLocation
    ) throws(StoreError) -> OriginReply {
        let (pointer, state) = (judged.pointer, judged.state)
        var observation = SeenSequences.Observation(pointer, at: origin)
        if state.isTrusted {
            // `--force` must not accept an old copy that somebody else may have put there.
            if let newer = state.newer { return .olderCopy(pointer, than: newer) }
            // Whatever it offers: after its expiry, nobody guarantees that there is nothing newer.
            if let time = judge.expired(state) {
                throw judge.expired(pointer.channel, at: origin, time)
            }
            if !options.isDryRun,
                let newer = try judge.noteVerified(judged, at: origin)
            {
                return .olderCopy(pointer, than: newer)
            }
        } else {
            let memory = try seenSequences.memory(of: observation)
            if let newer = memory.newer {
                guard options.isForced else { return .olderCopy(pointer, than: newer) }
                observation.isInsistedOn = true
            }
            if !memory.isKnown { noticeUnsigned(pointer, at: origin) }
        }
        // Taking a certain release does not obey the channel's pointer.
        let obeyed = options.release == nil ? observation : nil
        if let obeyed { try obeyWithdrawals(of: pointer, by: obeyed) }
        var reply = try choose(from: judged, obeyed, at: origin)
        reply.signers = state.signers
        return reply
    }

    /// Notes, before the first pointer of an unsigned origin is obeyed, that its writers can write here too.
    private func noticeUnsigned(_ pointer: ChannelPointer, at origin: OriginLocation) {
        guard let notice = options.notice else { return }
        // Writers to a local directory need no release to reach this machine.
        if case .directory = origin { return }
        let name = origin.description
        notice(
            pointer.isSigned
                ? "the releases of \(name) are signed, and this store trusts no key for them: castree trust add KEY.pub "
                    + "--origin \(name)"
                : "the releases of \(name) are not signed: whoever can write there can publish to this device"
        )
    }

    private func choose(
        from judged: JudgedPointer, _ observation: SeenSequences.Observation?,
        at origin: OriginLocation
    ) throws(StoreError) -> OriginReply {
        let pointer = judged.pointer
        let releases = try candidates(of: pointer)
        var reply = OriginReply(.nothing([]))
        reply.observation = observation
        reply.offered = releases.first
        var reasons: [String] = []
        var passedOver: [PassedOverRelease] = []
        for var offered in releases {
            let objections = try objections(to: offered)
            guard objections.isEmpty else {
                reasons += objections
                if let rollout = offered.audience.rollout,
                    try !rollout.includes(device(for: offered.audience)),
                    let name = offered.version?.name.description
                {
                    passedOver.append(.init(version: name, perMille: rollout.perMille))
                }
                continue
            }
            if try isOvertakenMandatory(pointer) { offered.isMandatory = true }
            reply.offered = offered
            reply.passedOver = passedOver
            guard let published = offered.version else {
                reply.answer = try embedded(instead: reasons)
                return reply
            }
            if let name = try version(with: published.content) {
                reply.answer = .known(version: name)
                return reply
            }
            let name = try name(for: published)
            options.offered(name.description, offered.isMandatory)
            var found = try documents.release(published, offered, of: pointer, at: origin)
            found.release.version = name
            found.observation = observation
            found.state = judged.state
            found.offeredAt = judged.cameAt
            reply.answer = .release(found)
            return reply
        }
        reply.passedOver = passedOver
        reply.answer = .nothing(reasons)
        return reply
    }

    /// All releases, or the one that ``PullOptions/release`` names; throws `.notOffered` with what there is.
    ///
    /// While the current version is a withdrawn one, those that are banned here come last: it must be left.
    private func candidates(
        of pointer: ChannelPointer
    ) throws(StoreError) -> [ChannelRelease] {
        guard let wanted = options.release else {
            // What is forced is taken, banned or not.
            guard !options.isForced, !pointer.withdrawn.isEmpty else { return pointer.releases }
            let lifecycle = try versions.lifecycle()
            guard let current = lifecycle.current, let content = try versions.content(of: current),
                pointer.withdraws(content)
            else { return pointer.releases }
            let isBanned = { (release: ChannelRelease) in
                release.version.map { lifecycle.ban(of: $0.content) != nil } ?? false
            }
            return pointer.releases.filter { !isBanned($0) } + pointer.releases.filter(isBanned)
        }
        let names = pointer.releases.map { $0.version?.name.description }
        if let place = names.firstIndex(of: wanted) { return [pointer.releases[place]] }
        let offered = names.compactMap(\.self)
        throw StoreError(
            .notOffered,
            "channel \"\(pointer.channel)\" does not offer version \(printable(wanted)); "
                + (offered.isEmpty
                    ? "it offers none"
                    : "it offers \(offered.joined(separator: ", "))"))
    }

    func embedded(instead reasons: [String]) throws(StoreError) -> OriginAnswer {
        guard try versions.lifecycle().embedded == nil else { return .embedded }
        return .nothing(
            reasons + [
                "the app should show what it was shipped with, which this store has not: castree adopt imports it"
            ])
    }

    /// Whether any of the releases is mandatory for this device and newer than its running version: a device that did
    /// not ask in time must not escape it.
    private func isOvertakenMandatory(_ pointer: ChannelPointer) throws(StoreError) -> Bool {
        guard pointer.releases.contains(where: \.isMandatory) else { return false }
        let running = try runningSequence(pointer)
        for release in pointer.releases where release.isMandatory && release.sequence > running {
            if try objections(to: release).isEmpty { return true }
        }
        return false
    }

    /// The channel's sequence at which the running version was offered: from the pointer, else as noted when it was
    /// fetched; the minimum for a version from elsewhere, whose sequences are not comparable.
    private func runningSequence(_ pointer: ChannelPointer) throws(StoreError) -> Int64 {
        let lifecycle = try versions.lifecycle()
        guard let current = lifecycle.current,
            let row = try versions.store.versionRow(current)
        else { return .min }
        for release in pointer.releases {
            if let version = release.version {
                if version.content == row.content { return release.sequence }
            } else if current == lifecycle.embedded {
                return release.sequence
            }
        }
        // If the manifest is lost, every mandatory release counts as newer.
        guard let manifest = try versions.readableManifest(of: current) else { return .min }
        let terms = ReleaseTerms(of: manifest)
        // An app gives its shipped version an order, but no channel.
        let isComparable =
            terms.family == nil
            && (terms.scope ?? pointer.channel.description) == pointer.channel.description
        // An order above the channel's sequence dates from before the channel was created anew.
        guard isComparable, let order = terms.order, order <= pointer.sequence else { return .min }
        return order
    }

    private func objections(to offered: ChannelRelease) throws(StoreError) -> [String] {
        if options.isForced { return [] }
        let name = offered.version.map { "version \($0.name)" } ?? "the embedded version"
        let reasons =
            try options.app.objections(to: offered.requirements)
            + offered.audience.objections(device: device(for: offered.audience), options.app)
        return reasons.map { "\(name): \($0)" }
    }

    /// A complete version with that content: preferably with the requested name, else the current or pending one.
    private func version(with content: ObjectID) throws(StoreError) -> String? {
        var names: [String] = []
        for (row, _) in try versions.store.versionRows()
        where row.content == content && row.isComplete {
            // A version whose manifest is lost is registered again.
            if try versions.hasManifest(row.name), try versions.canBeShown(row.name) {
                names.append(row.name)
            }
        }
        if let wanted = options.version { return names.contains(wanted) ? wanted : nil }
        guard names.count > 1 else { return names.first }
        let lifecycle = try versions.lifecycle()
        for name in [lifecycle.current, lifecycle.pending] {
            if let name, names.contains(name) { return name }
        }
        return names.first
    }

    /// The local name of a release: its own, or a variant if other content has that name here, wherever it came from: a
    /// device that nobody attends must not depend on somebody who retires it.
    private func name(for published: PublishedVersion) throws(StoreError) -> VersionName {
        let own = published.name.description
        guard options.version == nil else { return published.name }
        let rows = try versions.store.versionRows().map(\.row)
        var (name, number) = (own, 0)
        while let other = rows.first(where: { $0.name.lowercased() == name.lowercased() }) {
            if other.name == name {
                if other.content == published.content { break }
                // A version rebuilt from a tree gives way, and so does a part that was never complete.
                if other.recovery != .none { break }
                if !other.isComplete, try !versions.isMaterialized(name) { break }
            }
            number += 1
            name = "\(own.prefix(VersionName.byteCountMax - 16))+pulled.\(number)"
        }
        guard number > 0 else { return published.name }
        if try versions.lifecycle().ban(of: published.content) == nil {
            options.notice?(
                "the name of version \(own) is taken here by other content; what the channel offers comes as \(name)"
            )
        }
        return try VersionName(name)
    }

    /// Unsets a withdrawn pending version at once, because its replacement may never come.
    ///
    /// Withdrawn versions are no longer rolled back to.
    private func obeyWithdrawals(
        of pointer: ChannelPointer, by observation: SeenSequences.Observation
    ) throws(StoreError) {
        let changes = !options.isDryRun && options.destination != .kept
        if let withdrawal = try versions.withdrawal(by: observation) {
            if changes {
                _ = try versions.obey(withdrawal, now: options.now)
            } else {
                options.withdrawn(withdrawal)
            }
        }
        let demotes = changes || options.isForServer && !options.isDryRun
        guard demotes, !pointer.withdrawn.isEmpty else { return }
        try versions.demote(withdrawn: pointer.withdraws)
    }
}

/// What came in place of a channel's pointer: the status, and the type of a page.
struct NoPointer: Error {
    let status: Int
    let page: String?
}

// The error if nothing describes a release: the wrong place, or the wrong channel.

extension OriginInquiry {
    func noChannel(
        _ channel: ChannelName, at origin: OriginLocation, _ answer: NoPointer
    ) throws(StoreError) -> StoreError {
        if answer.status == 403 {
            if let refusal = access.refusal { return refusal }
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(channel)\" be read (it answered "
                    + "403): it is private, or has no such channel")
        }
        if let error = try wrongPlace(origin, channel.description) { return error }
        if let page = answer.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "\(origin.description) has no channel \"\(channel)\" (it answered \(answer.status)); "
                + "castree publish creates one")
    }

    /// - Parameter answer: nil if no channel was asked for.
    func noRelease(
        at origin: OriginLocation, _ answer: NoPointer?
    ) throws(StoreError) -> StoreError {
        // Storage that may not be listed answers 403 for missing files too.
        if answer?.status == 403 {
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(printable(options.channel))\" be "
                    + "read (it answered 403): it is private, or describes no release; check the URL, "
                    + "and who may read it")
        }
        if answer != nil, let error = try wrongPlace(origin, options.channel) { return error }
        if let page = answer?.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; \(origin.advice)")
    }

    /// The error for a page in place of a channel's pointer: perhaps a captive portal, so a retry may help.
    func page(_ type: String, insteadOf origin: OriginLocation) -> StoreError {
        StoreError(
            .network,
            "\(origin.description) answered with a page (\(type)): a login or captive portal? If this network has "
                + "none, check the URL: no origin is there",
            cause: .transfer(kind: TransferFailure.Kind.broken.rawValue))
    }

    /// Advice on a 400: a TLS port answers a plain http request so.
    func adviceOnScheme(_ status: Int, _ origin: OriginLocation) -> String {
        guard status == 400, case .web(let url) = origin, url.hasPrefix("http:") else { return "" }
        return " (is that port https, not http?)"
    }

    /// The error for a directory that does not exist, or an origin with other channels; nil if neither is certain.
    private func wrongPlace(
        _ origin: OriginLocation, _ channel: String
    ) throws(StoreError) -> StoreError? {
        if case .directory(let path) = origin,
            try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path) == nil
        {
            return StoreError(
                .notFound, "there is no directory \(printable(path)); \(origin.advice)")
        }
        // The error to report is the missing release; the names would only make it clearer.
        let known = try unlessInterrupted { () throws(StoreError) in
            try access.channelNames(at: origin)
        }
        let names = (known ?? []).map(\.description).filter { $0 != channel }
        guard !names.isEmpty else { return nil }
        let few = names.prefix(Self.namedCountMax).joined(separator: ", ")
        return StoreError(
            .notFound,
            "the origin \(origin.description) has no channel \"\(printable(channel))\"; it has "
                + few + (names.count > Self.namedCountMax ? " and others" : ""))
    }

    private static let namedCountMax = 8
}
