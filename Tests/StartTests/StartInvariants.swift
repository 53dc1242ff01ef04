import CASStore

@testable import VersionTree

/// What must hold, said without the rules that keep it: of each step, and of what can follow it.
enum StartInvariants {
    /// What a step breaks; `nil` if nothing.
    static func problem(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld, _ model: StartModel
    ) throws -> String? {
        if let current = after.lifecycle.current {
            guard try StartVersions().isUsable(current, after.lifecycle) else {
                return "what is shown is banned"
            }
        } else {
            return "there is nothing to show"
        }
        for ban in after.lifecycle.bad where before.lifecycle.ban(of: ban.content) == nil {
            let content = StartVersions.firstName(ban.version)
            guard !after.unwanted.contains(content) else { continue }
            if before.confirmed.contains(content), before.starts[content] == nil {
                return "\(ban.version) is banned, which was confirmed"
            }
            if (before.starts[content] ?? 0) < 2 {
                return "\(ban.version) is banned, which was not started twice"
            }
        }
        for good in before.lifecycle.knownGood where after.lifecycle.unconfirmed != nil {
            let tried = after.lifecycle.unconfirmed?.version ?? ""
            if StartVersions.firstName(good) == StartVersions.firstName(tried) {
                return "\(tried) is being tried, whose content is known good"
            }
        }
        // A failed attempt has one start that failed, or three that were stopped.
        for (version, count) in after.starts
        where count > 6 && after.lifecycle.wayBack != nil && before.starts[version] == 6 {
            return "\(version) was started \(count) times and is not left"
        }
        if let problem = ofVisit(before, event, after) ?? ofStop(before, event, after) {
            return problem
        }
        if let problem = ofWatched(before, event, after) { return problem }
        if let problem = ofBoot(before, event, after) { return problem }
        if model.defersPending, let problem = ofDeferred(before, event, after) { return problem }
        return try ofTime(after, model)
    }

    /// Nothing but a page that is shown starts anything, or counts.
    private static func ofVisit(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        if case .unshown = event {
            let (then, now) = (before.lifecycle.attempts, after.lifecycle.attempts)
            guard after.lifecycle.unconfirmed == nil || before.lifecycle == after.lifecycle else {
                return "a start that was not shown continues"
            }
            for attempt in now
            where attempt.failedAttempts > before.lifecycle.failedAttempts(of: attempt.content) {
                // The third that is taken back in a row counts as a failure.
                let takenBack = then.first { $0.content == attempt.content }?.takenBack ?? 0
                guard takenBack >= 2 else { return "what was not shown counts" }
            }
        }
        if let problem = ofStranger(before, event, after) { return problem }
        if case .kept(let process) = event { return ofKept(before, process, after) }
        guard case .visit(let visit, _) = event, visit != .navigation else { return nil }
        return before.lifecycle == after.lifecycle ? nil : "\(visit) has changed the lifecycle"
    }

    /// What another site's page may have opened counts only once the browser comes back with the cookie.
    private static func ofStranger(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        switch event {
        case .stranger: break
        case .time where before.lifecycle.unconfirmed?.isUncounted == true: break
        default: return nil
        }
        return after.lifecycle.attempts.contains {
            $0.failedAttempts > before.lifecycle.failedAttempts(of: $0.content)
        } ? "what a stranger may have opened counts" : nil
    }

    /// What a service worker hid is neither good nor at fault, and continues in nobody's name.
    private static func ofKept(
        _ before: StartWorld, _ process: Int, _ after: StartWorld
    ) -> String? {
        for good in after.lifecycle.knownGood where !before.lifecycle.knownGood.contains(good) {
            guard before.confirmed.contains(StartVersions.firstName(good)) else {
                return "\(good) is known good, which was not shown"
            }
        }
        for attempt in after.lifecycle.attempts {
            guard attempt.failedAttempts <= before.lifecycle.failedAttempts(of: attempt.content)
            else {
                return "what was not shown counts"
            }
        }
        guard let boot = after.lifecycle.unconfirmed else { return nil }
        return after.processes[process]?.judge.watchedToken == boot.token
            ? "a start that was not shown continues" : nil
    }

    /// A start takes from nobody the token with which an earlier one may still say that it works.
    private static func ofBoot(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        guard event == .boot, let app = before.app,
            before.lifecycle.boot?.system == (before.isOddBoot ? "odd" : "even")
        else { return nil }
        var lifecycle = after.lifecycle
        do throws(StoreError) {
            _ = try lifecycle.acceptConfirmation(app.version, token: app.token)
        } catch { return "\(app.version) says that it works and is not believed" }
        guard lifecycle.knownGood.contains(app.version) else {
            return "\(app.version) says that it works and is not known good"
        }
        return lifecycle.bad.contains { $0.version == app.version }
            ? "\(app.version) says that it works and is banned" : nil
    }

    /// Where starts wait for the next process, a process takes what is pending with its first page or never.
    private static func ofDeferred(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        guard case .visit(_, let number) = event,
            before.processes[number]?.judge.hasStarted == true,
            let pending = before.lifecycle.pending, before.lifecycle.current != pending,
            // What is gone back to is not started for its own sake.
            !before.lifecycle.knownGood.contains(pending), before.lifecycle.before != pending
        else { return nil }
        return after.lifecycle.current == pending
            ? "\(pending) was started by a later page of a process" : nil
    }

    /// A stop in order is no failure, unless it is the third.
    private static func ofStop(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        guard case .stop = event, before.lifecycle != after.lifecycle,
            let boot = before.lifecycle.boot, let content = boot.content,
            let attempt = before.lifecycle.attempts.first(where: { $0.content == content }),
            attempt.takenBack < 2
        else { return nil }
        guard after.lifecycle.current == before.lifecycle.current,
            after.lifecycle.failedAttempts(of: content) == attempt.failedAttempts - 1
        else { return "a stop counts as a failure" }
        return nil
    }

    /// A start that a living process watches is nobody else's to judge.
    private static func ofWatched(
        _ before: StartWorld, _ event: StartEvent, _ after: StartWorld
    ) -> String? {
        guard let boot = before.lifecycle.unconfirmed, boot.isWatched else { return nil }
        let watcher = before.processes.firstIndex { $0?.judge.watchedToken == boot.token }
        guard let watcher, before.processes[watcher]?.judge.watched?.isOverdue == false else {
            return nil
        }
        let isOthers =
            switch event {
            case .visit(_, let process), .time(let process), .stop(let process),
                .kill(let process), .begin(let process), .thaw(let process),
                .unshown(let process), .kept(let process), .stranger(let process),
                .cookie(let process):
                process != watcher
            case .boot: true
            default: false
            }
        // A confirmation that waited is anybody's.
        guard isOthers, !after.lifecycle.knownGood.contains(boot.version) else { return nil }
        return after.lifecycle.boot == boot && after.lifecycle.attempts == before.lifecycle.attempts
            ? nil : "another process has judged a start that is watched"
    }

    /// Who watches a version that never works leaves it when the time is over, if there is a way back.
    private static func ofTime(_ world: StartWorld, _ model: StartModel) throws -> String? {
        guard let boot = world.lifecycle.unconfirmed,
            let watcher = world.processes.firstIndex(where: {
                $0?.judge.watched?.token == boot.token && $0?.judge.watched?.isOverdue == false
            }), world.processes[watcher]?.isFrozen == false,
            try world.lifecycle.findWayBack(StartVersions()) != nil
        else { return nil }
        let later = try model.next(world, .time(watcher))
        return later?.lifecycle.current == boot.version
            ? "\(boot.version) is not left in time" : nil
    }
}
