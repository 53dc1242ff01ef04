package import CASStore

// Pure transitions: what a start does to the lifecycle.
extension Lifecycle {
    /// The default number of starts of one content that may fail.
    public static let usualFailedAttempts = 2
    /// How many starts in a row may be taken back; the last of them counts as a failure.
    static let takenBackMax = 3
    static let attemptCountMax = 64

    /// Whether a start of a version must be confirmed.
    package func isBeingTried(_ version: String) -> Bool {
        !knownGood.contains(version) && before != version
    }

    /// The start of the current version that is neither confirmed nor judged.
    package var unconfirmed: Boot? {
        guard let boot, boot.version == current, isBeingTried(boot.version) else { return nil }
        return boot
    }

    package func failedAttempts(of content: ObjectID) -> Int {
        attempts.first { $0.content == content }?.failedAttempts ?? 0
    }

    /// Whether a version waits after a failed start, judging by its name alone.
    package func isResting(_ version: String) -> Bool {
        version != current && attempts.contains { $0.version == version && $0.failedAttempts > 0 }
    }

    /// Begins a start, because the app starts or its first page is served, and first counts it against the content.
    /// - Throws: `.noVersion` if there is nothing to start.
    package mutating func begin(
        _ request: StartRequest, _ versions: some StartableVersions
    ) throws(StoreError) -> Begun {
        var left: LeftVersion?
        let former = boot
        if let current { try recognize(current, versions) }
        if let boot = unconfirmed {
            if boot.isWatched, request.isLockTaken {
                return Begun(kind: .joined, version: boot.version, token: boot.token)
            }
            if Self.isOfAnotherSystem(boot, request) {
                left = try takeBack(boot, request, versions)
            } else if request.adopts(boot) {
                self.boot?.isWatched = request.isWatching
                if boot.isUncounted, request.isCounted, var own = self.boot,
                    let content = try versions.content(of: boot.version)
                {
                    count(&own, against: content)
                    self.boot = own
                }
                return Begun(kind: .adopted, version: boot.version, token: boot.token)
            } else if boot.isUncounted {
                self.boot = nil
            } else if Self.isUnattributed(boot, request) {
                left = try takeBack(boot, request, versions)
            } else {
                left = try leave("it was started and never confirmed", request, versions)
            }
        }
        let before = self
        try startPending(request, mayRetry: request.mayRetry && left == nil, versions)
        let version = try startable(request, upon: before, &left, versions)
        var boot = Boot(version: version, token: request.token, startedAt: request.time)
        if isBeingTried(version), let content = try versions.content(of: version) {
            boot.isUncounted = true
            if request.isCounted { count(&boot, against: content) }
            boot.system = request.system
            boot.isWatched = request.isWatching
        }
        self.boot = boot
        keepToken(of: former, request)
        return Begun(
            kind: .started, version: version, token: request.token, left: left,
            switchedFrom: before.current == version ? nil : before.current)
    }

    static func isOfAnotherSystem(_ boot: Boot, _ request: StartRequest) -> Bool {
        guard let then = boot.system, let now = request.system else { return false }
        return then != now
    }

    /// Whether nothing tells if a counted start ended with the system.
    static func isUnattributed(_ boot: Boot, _ request: StartRequest) -> Bool {
        boot.content != nil && (boot.system == nil || request.system == nil)
    }

    /// Switches to the pending version, if it may be started.
    private mutating func startPending(
        _ request: StartRequest, mayRetry: Bool, _ versions: some StartableVersions
    ) throws(StoreError) {
        guard let pending, request.takesPending && request.unfit != pending || current == nil
        else { return }
        do throws(StoreError) {
            guard try versions.isUsable(pending, self) else {
                self.pending = nil
                return
            }
        } catch {
            if [.interrupted, .locked].contains(error.code) || current == nil { throw error }
            // A version that cannot be examined stays pending.
            return
        }
        let failedAttempts =
            try versions.content(of: pending).map { self.failedAttempts(of: $0) } ?? 0
        guard failedAttempts == 0 || mayRetry || current == nil else { return }
        try activate(pending, versions)
    }

    /// The current version, or what can be started instead.
    /// - Parameter before: the lifecycle before the pending version became current.
    private mutating func startable(
        _ request: StartRequest, upon before: Lifecycle, _ left: inout LeftVersion?,
        _ versions: some StartableVersions
    ) throws(StoreError) -> String {
        var failure: StoreError?
        if let current, try isUsable(current, versions, &failure) {
            let failedAttempts =
                try versions.content(of: current).map { self.failedAttempts(of: $0) } ?? 0
            // Its starts were used up under another name, or while there was nothing to roll back to.
            guard isBeingTried(current), failedAttempts >= request.failedAttempts,
                let gone = try leave(
                    "it was started \(failedAttempts) times and never confirmed", request, versions)
            else { return current }
            left = left ?? gone
            return gone.current
        }
        if failure != nil, let then = before.current, then != current {
            // A pending version that cannot be examined stays pending.
            self = before
            return try startable(request, upon: before, &left, versions)
        }
        // Another name of the same content may still have what this one has lost.
        if let target = try findWayBack(
            versions, toOtherContent: false, showing: request.canShow)
        {
            // It is not banned, because it is not at fault: it lost objects, or was retired by hand.
            if let current {
                left =
                    left
                    ?? LeftVersion(current: target, from: current, reason: "it could not be shown")
            }
            goBack(to: target, request)
            return target
        }
        if let failure { throw failure }
        guard let current else {
            throw StoreError(
                .noVersion,
                "there is nothing to start: no version is current; choose one with castree activate"
            )
        }
        return current
    }

    /// Whether a version can be shown; `failure` gets an error from its tree, for use if nothing else can be shown.
    private func isUsable(
        _ version: String, _ versions: some StartableVersions, _ failure: inout StoreError?
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try versions.isUsable(version, self)
        } catch {
            if [.interrupted, .locked].contains(error.code) { throw error }
            failure = error
            return false
        }
    }

    /// Rolls back from the current version, which is then pending or, if its starts are used up, banned.
    /// - Returns: `nil` if there is nothing to roll back to; then nothing changes.
    mutating func leave(
        _ reason: String, _ request: StartRequest, _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        guard let from = current,
            let target = try findWayBack(versions, showing: request.canShow)
        else { return nil }
        var left = LeftVersion(current: target, from: from, reason: Self.bounded(reason))
        // A current version without a row cannot be banned by content; rolling back matters more.
        if let content = try versions.content(of: from) {
            // A start that an older castree made was not counted.
            if let boot, boot.version == from, boot.content == nil, !boot.isUncounted {
                count(content, from)
            }
            // Only starts that are taken back in a row count.
            if let index = attempts.firstIndex(where: { $0.content == content }) {
                attempts[index].takenBack = 0
            }
            if failedAttempts(of: content) >= request.failedAttempts {
                ban(from, content: content, reason: reason, at: request.time)
                left.ban = bad.first
                try forgetNames(of: content, versions)
            } else if pending == nil {
                pending = from
            }
        } else {
            knownGood.removeAll { $0 == from }
        }
        goBack(to: target, request)
        left.waits = pending == from
        return left
    }

    /// Ends a start that is neither confirmed nor rolled back; a decision made elsewhere stands.
    package mutating func leave(
        _ departure: Departure, _ request: StartRequest, _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        switch departure {
        case .unconfirmed(let version, let token, let reason):
            return try leave(unconfirmed: version, token: token, reason, request, versions)
        case .unshown(let version, let token, let reason):
            return try leave(unshown: version, token: token, reason, request, versions)
        case .stopped(let version, let token):
            guard let boot = try unconfirmedBoot(version, token: token, versions) else {
                return nil
            }
            return try takeBack(boot, request, versions)
        case .unheard(let version, let token):
            guard let boot = try unconfirmedBoot(version, token: token, versions) else {
                return nil
            }
            self.boot = nil
            if let index = attempts.firstIndex(where: { $0.content == boot.content }) {
                attempts[index].failedAttempts = max(0, attempts[index].failedAttempts - 1)
            }
            return nil
        }
    }

    private mutating func leave(
        unconfirmed version: String, token: String, _ reason: String, _ request: StartRequest,
        _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        guard current == version, boot?.token == token else { return nil }
        try recognize(version, versions)
        // It was confirmed under another name meanwhile.
        guard isBeingTried(version) else { return nil }
        return try leaveOrRefuse(reason, request, versions)
    }

    mutating func leaveOrRefuse(
        _ reason: String, _ request: StartRequest, _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion {
        guard let left = try leave(reason, request, versions) else {
            throw StoreError(
                .nothingToRollBackTo,
                "there is no version to go back to: none with other content is known good or "
                    + "embedded, complete and not banned; choose one with castree activate")
        }
        try forgetTokens(of: left.from, versions)
        return left
    }

    /// The start of a version with that token, unless it was confirmed or rolled back.
    private mutating func unconfirmedBoot(
        _ version: String, token: String, _ versions: some StartableVersions
    ) throws(StoreError) -> Boot? {
        try recognize(version, versions)
        return unconfirmed.flatMap { $0.version == version && $0.token == token ? $0 : nil }
    }

    /// Takes back a start that ended by an orderly stop or with the system; the third in a row counts as a failure.
    mutating func takeBack(
        _ boot: Boot, _ request: StartRequest, _ versions: some StartableVersions
    ) throws(StoreError) -> LeftVersion? {
        self.boot = nil
        guard let content = boot.content,
            let index = attempts.firstIndex(where: { $0.content == content })
        else { return nil }
        attempts[index].failedAttempts = max(0, attempts[index].failedAttempts - 1)
        attempts[index].takenBack += 1
        guard attempts[index].takenBack >= Self.takenBackMax else { return nil }
        attempts[index].takenBack = 0
        attempts[index].failedAttempts += 1
        return try leave(
            "it was stopped \(Self.takenBackMax) times before anything confirmed that it works",
            request, versions)
    }

    /// The newest known good version that can be shown, else the one that was current before, else the embedded one.
    /// - Parameters:
    ///   - isOther: whether its content must differ from the current version's: what failed under one name is no
    ///     better under another.
    ///   - canShow: whether a version has a page to start with. A version without one is skipped, unless the current
    ///     version has none either.
    /// - Throws: what the disk reported, if that alone leaves nothing to roll back to. A retry may find something,
    ///   and until then the unconfirmed version must not start again.
    package func findWayBack(
        _ versions: some StartableVersions, toOtherContent isOther: Bool = true,
        showing canShow: StartRequest.Showing = { _ in true }
    ) throws(StoreError) -> String? {
        var failure: StoreError?
        var unshown: String?
        for name in waysBack where name != current {
            do throws(StoreError) {
                if isOther, try hasContentOfCurrent(name, versions) { continue }
                guard try versions.isUsable(name, self) else { continue }
                if try canShow(name) { return name }
                unshown = unshown ?? name
            } catch {
                // A candidate that cannot be examined does not count; the next one may be usable.
                if error.cause != nil, error.code != .outOfSpace { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        guard let unshown, let current, try !canShow(current) else { return nil }
        return unshown
    }

    private mutating func goBack(to target: String, _ request: StartRequest) {
        show(target)
        if pending == target { pending = nil }
        // It is not being tried, but its page may confirm it.
        boot =
            target == before && !knownGood.contains(target)
            ? Boot(version: target, token: request.token, startedAt: request.time) : nil
    }

    // MARK: Counting

    private mutating func count(_ boot: inout Boot, against content: ObjectID) {
        // A banned version starts only if nothing else is left to show; it cannot be banned again.
        if ban(of: content) == nil { count(content, boot.version) }
        boot.content = content
        boot.isUncounted = false
    }

    private mutating func count(_ content: ObjectID, _ version: String) {
        var attempt =
            attempts.first { $0.content == content } ?? Attempt(version: version, content: content)
        attempt.version = version
        attempt.failedAttempts = min(attempt.failedAttempts + 1, 1000)
        attempts.removeAll { $0.content == content }
        attempts.insert(attempt, at: 0)
        if attempts.count > Self.attemptCountMax { attempts.removeLast() }
    }

    /// Drops a start that is neither confirmed nor failed because another version is wanted.
    mutating func abandonStart() {
        if let content = boot?.content,
            let index = attempts.firstIndex(where: { $0.content == content })
        {
            attempts[index].failedAttempts = max(0, attempts[index].failedAttempts - 1)
            if attempts[index].failedAttempts == 0, attempts[index].takenBack == 0 {
                attempts.remove(at: index)
            }
        }
        boot = nil
    }

    mutating func noteWayBack(for version: String) {
        guard let current, current != version, isBeingTried(version) else { return }
        // Later attempts do not change it: what they follow is itself being tried.
        if before == nil || !isBeingTried(current) { before = current }
    }
}

extension StartRequest {
    fileprivate func adopts(_ boot: Lifecycle.Boot) -> Bool {
        guard case .adopts(let dead) = successor else { return false }
        return !boot.isWatched || boot.token != dead
    }
}
