import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let status = Command(
        "status", summary: "shows what is running, what is pending and what is wrong",
        discussion: """
            Prints at most ten lines, and reads little more than names and the index, so a timer \
            may run it every minute. (castree fsck reads the content.) A 'wrong' line needs \
            attention. It appears if the current version is incomplete, the last check left \
            problems, the newest version is banned, the current one fails to start and there is \
            none to roll back to, a server's refusals hold a release back, a process is stopped \
            or runs as another user, the disk is full or read-only, or a file of the store cannot \
            be read or removed. It also reports an origin that has not answered for a week, \
            offers something older than before, or has an expired signature; updates that have \
            failed at least three times and for an hour, or once for a reason that retrying \
            cannot cure (the disk is too small, or untrusted keys have signed); a service worker \
            that has shown a stale page for a day; and an incomplete version whose download \
            nobody has continued for a day.

                castree status
                castree status --json | jq -r '.problems[].message'
                castree status > status.txt || mail -s kiosk operator < status.txt
            """,
        statuses: .status
    ) { invocation in
        let store = try invocation.openStore()
        // To a user who may not look into it, it would seem to be empty.
        try store.store.refuseStranger()
        let status = try invocation.waitingOnce { StoreStatus(of: store, now: secondsNow()) }
        try invocation.report { writer in
            status.writeMembers(to: &writer)
        } text: { output in
            status.print(to: output, invocation.sizes)
        }
        return status.problems.isEmpty ? .done : .failed
    }
}

extension Invocation {
    /// Bounds the total wait of all parts for other processes by that of one command; none after a signal.
    func waitingOnce<R>(_ findOut: () throws -> R) throws -> R {
        let limit = try storeOptions().waitLimit
        let found = try LockDeadline.within(
            limit, unless: { Interruption.isRequested }, findOut)
        if Interruption.isRequested { throw StoreError.interruption }
        return found
    }
}

extension ExitStatuses {
    fileprivate static let status = ExitStatuses(help: [
        (.done, "everything is in order"),
        (.failed, "something needs attention; the 'wrong' lines say what"),
        (.usage, "the command line was wrong"),
        (.notFound, "there is no store"),
        (.busy, "another process held the store for longer than --wait"),
        (.interrupted, "interrupted"),
    ])
}

// MARK: For scripts

extension StoreStatus {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("store", path)
        writer.member("well", problems.isEmpty)
        writer.member("problems", problems) { writer, problem in
            writer.member("code", problem.code)
            writer.member("version", problem.version)
            writer.member("message", problem.message)
        }
        writer.member("versions", versions.count)
        writer.member("current", lifecycle.current)
        writer.member("pending", lifecycle.pending)
        writer.member("mandatory", isForced)
        writer.member("wayBack", wayBack)
        writer.member("uses", uses) { writer, use in
            writer.member("use", use.kind.rawValue)
            writer.member("version", use.version)
            writer.key("process")
            if let process = use.holder.process { writer.integer(process) } else { writer.null() }
            writer.member("name", use.holder.name)
            writer.member("stopped", use.holder.isStopped)
        }
        writer.member("downloads", downloads) { writer, download in
            writer.member("version", download.progress.version)
            writer.member("missingObjects", download.progress.missingObjects)
            writer.member("missingBytes", download.progress.missingBytes)
            writer.member("stagedBytes", download.progress.stagedBytes)
            writer.member("totalBytes", download.progress.totalBytes)
            writer.member("fetched", download.isFetched)
            writer.member("at", download.at.map { timestamp($0) })
        }
        writer.member("asked", orNull: asked) { writer, asked in
            writer.member("at", timestamp(asked.at))
            writer.member("origin", asked.origin)
            writer.member("outcome", asked.outcome.rawValue)
            writer.member("failures", asked.failures)
            writer.member("failingSince", asked.failingSince.map { timestamp($0) })
            writer.member("failure", asked.failure)
            writer.member("wentBackSince", asked.wentBackSince.map { timestamp($0) })
        }
        writer.member("lastCheck", orNull: lastCheck) { writer, check in
            writer.member("endedAt", timestamp(check.endedAt))
            writer.member("findings", check.findingCount)
            writer.member("repaired", check.repairedCount)
            writer.member("leftovers", check.leftoverCount)
        }
        writer.key("availableBytes")
        if let space { writer.integer(space.available) } else { writer.null() }
    }
}

// MARK: For people

extension StoreStatus {
    private static let lineCountMax = 10

    fileprivate func print(to output: Output, _ sizes: SizeStyle) {
        var rows: [(DisplayText, DisplayText)] = [("store", storeText(sizes))]
        rows.append(("current", currentText))
        if let pending = lifecycle.pending { rows.append(("next start", text(ofPending: pending))) }
        if let wayBack { rows.append(("way back", "\(wayBack)")) }
        if !uses.isEmpty { rows.append(("runs", usesText)) }
        if !downloads.isEmpty { rows.append(("waits", downloadsText(sizes))) }
        if let asked { rows.append(("asked", text(of: asked))) }
        rows.append(("checked", checkText))
        let space = Self.lineCountMax - rows.count
        if problems.isEmpty {
            rows.append(("well", "\("nothing to do", .green)"))
        } else {
            let shown = problems.count <= space ? problems.count : space - 1
            for problem in problems.prefix(shown) {
                rows.append(("\("wrong", .red)", "\(problem.message)"))
            }
            if shown < problems.count {
                let more = counted(problems.count - shown, "problem")
                rows.append(("\("wrong", .red)", "\(more) more: castree status --json"))
            }
        }
        var table = TextTable([.left(""), .left("")])
        for (label, text) in rows { table.add([label, text]) }
        table.print(to: output)
    }

    private func storeText(_ sizes: SizeStyle) -> DisplayText {
        let free: DisplayText = space.map { ", \(sizes.text($0.available)) free" } ?? ""
        return "\(path): \(counted(versions.count, "version"))\(free)"
    }

    private var currentText: DisplayText {
        if isLifecycleDamaged { return "\("unknown", .red)" }
        guard let current = lifecycle.current else { return "\("none", .faint)" }
        var remarks: [DisplayText] = []
        let summary = versions.first { $0.isCurrent }
        if let summary, summary.missingObjects > 0 {
            remarks.append("\("is missing \(counted(summary.missingObjects, "object"))", .red)")
        }
        if summary?.isBad == true { remarks.append("\("banned", .red)") }
        if lifecycle.knownGood.contains(current) { remarks.append("\("known good", .green)") }
        if let attempt = lifecycle.attempts.first(where: { $0.version == current }) {
            let starts = counted(attempt.failedAttempts, "start")
            remarks.append("\("being tried", .yellow), \(starts) not confirmed")
        }
        return remarks.reduce("\(current, .bold)") { "\($0), \($1)" }
    }

    private func text(ofPending pending: String) -> DisplayText {
        let content = versions.first { $0.version == pending }?.content
        let pending: DisplayText = "\(pending, .yellow)\(isForced ? ", mandatory" : "")"
        guard let attempt = lifecycle.attempts.first(where: { $0.content == content }),
            attempt.failedAttempts > 0
        else { return pending }
        let starts = counted(attempt.failedAttempts, "start")
        return "\(pending), \(starts + " failed", .red); it waits for another"
    }

    private var usesText: DisplayText {
        var operations: [(holder: String, operations: [String])] = []
        for use in uses {
            let verb = use.version.map { "\(use.kind.rawValue) \($0)" }
            let operation = verb ?? (use.kind == .watches ? "watches a start" : "writes")
            let holder = use.holder.description
            if let place = operations.firstIndex(where: { $0.holder == holder }) {
                if !operations[place].operations.contains(operation) {
                    operations[place].operations.append(operation)
                }
            } else {
                operations.append((holder, [operation]))
            }
        }
        return joined(operations.map { "\($0.holder) \($0.operations.joined(separator: ", "))" })
    }

    private func downloadsText(_ sizes: SizeStyle) -> DisplayText {
        joined(
            downloads.map { download in
                let progress = download.progress
                let missing = max(0, progress.missingBytes - progress.stagedBytes)
                let rest =
                    download.isFetched || download.at != nil ? "" : "; no download is running"
                let since =
                    download.isFetched
                    ? nil : download.at.map { "; no download since \(timestamp($0))" }
                return
                    "\(progress.version) is missing \(counted(progress.missingObjects, "object")), "
                    + "\(sizes.text(missing)) of \(sizes.text(progress.totalBytes))"
                    + rest + (since ?? "")
            })
    }

    /// At most three, on one line.
    private func joined(_ texts: [String]) -> DisplayText {
        let more = texts.count > 3 ? "; \(texts.count - 3) more" : ""
        return "\(texts.prefix(3).joined(separator: "; ") + more)"
    }

    private func text(of asked: AskedOrigin) -> DisplayText {
        guard let since = asked.failingSince else {
            return "\(timestamp(asked.at)) \(asked.sentence)"
        }
        let failures = counted(asked.failures, "update") + " failed since \(timestamp(since))"
        return "\(timestamp(asked.at)) \(asked.sentence); \(failures, .yellow)"
    }

    private var checkText: DisplayText {
        guard let check = lastCheck else { return "\("never", .faint)" }
        return "\(timestamp(check.endedAt)) \(verdict(on: check))"
    }

    private func verdict(on check: LastCheck) -> DisplayText {
        if check.findingCount == 0 { return "\("no problems", .green)" }
        if check.leftCount > 0 { return "\(counted(check.leftCount, "problem") + " left", .red)" }
        guard check.leftoverCount > 0 else {
            return "\(counted(check.findingCount, "problem")), all repaired"
        }
        return "only leftovers of killed writers; castree gc removes them"
    }
}
