import CASStore
import Console
import HotPush
import ServeFromCAS
import StoreCommands
import StrictJSON
import UsagePage
import VersionTree

// Joins the usage page with the server: neither knows the other.

extension Dashboard {
    static func of(_ store: ServedStore) -> Dashboard {
        Dashboard(
            page: { () throws(StoreError) in
                Page(
                    bytes: try UsagePage.html(
                        try store.newest.survey(.ofDashboard), isLive: true),
                    policy: try UsagePage.policy(isLive: true))
            },
            status: { (held) throws(StoreError) in
                try DashboardStatus(store.newest, held: held).document
            },
            usage: { () throws(StoreError) in
                UsagePage.json(try store.newest.survey(.ofDashboard))
            })
    }
}

extension SurveyOptions {
    /// As for `castree du --html`, but with fewer files: the page is made again and again.
    fileprivate static var ofDashboard: SurveyOptions {
        var options = SurveyOptions()
        options.largestMax = 50
        options.mapFilesMax = 50_000
        return options
    }
}

/// The state of a store at one moment; the dashboard asks for it every few seconds.
private struct DashboardStatus {
    let versions: [VersionSummary]
    let lifecycle: Lifecycle
    let pinned: [String]
    let held: Dashboard.Held
    let progress: [VersionProgress]
    let lastCheck: LastCheck?
    let downloads: [String: StoreEvent]

    init(_ store: VersionStore, held: Dashboard.Held) throws(StoreError) {
        versions = try store.versions()
        lifecycle = try store.lifecycle()
        pinned = try store.pinnedVersions().sorted()
        self.held = held
        progress = try store.progress()
        lastCheck = store.lastCheck()
        downloads = progress.isEmpty ? [:] : Self.downloads(store)
    }

    private static func downloads(_ store: VersionStore) -> [String: StoreEvent] {
        var last: [String: StoreEvent] = [:]
        // Without the log, which is for people, the store still says how far a download is.
        guard let entries = try? EventLog(store).entries() else { return last }
        for entry in entries {
            if let version = entry.event.downloadedVersion { last[version] = entry.event }
        }
        return last
    }

    var document: [UInt8] {
        JSONWriter.document { writer in
            // Compared only within this process, so a seed of its own does no harm.
            writer.member("revision", "\(figures.hashValue)")
            writer.member("lifecycle") { write(lifecycle, to: &$0) }
            writer.member("versions", versions) { write($1, to: &$0) }
            writer.member("pinned", pinned)
            writer.member("held", held.byPages)
            writer.member("serves", held.current)
            writer.member("downloads", progress) { write($1, to: &$0) }
            writer.member("lastCheck", orNull: lastCheck) { write($1, to: &$0) }
        }
    }

    /// What the figures of the page depend on, except what changes with every object that arrives.
    private var figures: [UInt8] {
        JSONWriter.document { writer in
            writer.member("versions", versions) { writer, version in
                write(version, to: &writer)
                writer.member("content", version.content.description)
            }
            writer.member("lifecycle") { write(lifecycle, to: &$0) }
            writer.member("pinned", pinned)
        }
    }

    private func write(_ version: VersionSummary, to writer: inout JSONWriter) {
        writer.member("version", version.version)
        writer.member("state", version.state.rawValue)
        writer.member("isBad", version.isBad)
        writer.member("isProtected", version.isProtected)
    }

    private func write(_ lifecycle: Lifecycle, to writer: inout JSONWriter) {
        writer.member("current", lifecycle.current)
        writer.member("pending", lifecycle.pending)
        writer.member("embedded", lifecycle.embedded)
        writer.member("knownGood", lifecycle.knownGood)
        writer.member("starting", lifecycle.boot?.version)
    }

    private func write(_ each: VersionProgress, to writer: inout JSONWriter) {
        writer.member("version", each.version)
        writer.member("missingObjects", each.missingObjects)
        writer.member("missingBytes", each.missingBytes)
        writer.member("stagedBytes", each.stagedBytes)
        writer.member("totalBytes", each.totalBytes)
        if let event = downloads[each.version], let outcome = event.downloadOutcome {
            writer.member("outcome", outcome.rawValue)
            writer.member("reason", event.text("reason"))
        }
    }

    private func write(_ check: LastCheck, to writer: inout JSONWriter) {
        writer.member("endedAt", check.endedAt)
        writer.member("deep", check.isDeep)
        writer.member("repair", check.isRepair)
        writer.member("checkedObjects", check.checkedObjects)
        writer.member("checkedBytes", check.checkedBytes)
        writer.member("skippedObjects", check.skippedObjects)
        writer.member("findingCount", check.findingCount)
        writer.member("repairedCount", check.repairedCount)
        writer.member("leftoverCount", check.leftoverCount)
        writer.member("findings", check.findings) { writer, finding in
            writer.member("kind", finding.kind.rawValue)
            writer.member("message", finding.message)
            writer.member("repaired", finding.isRepaired)
        }
    }
}
