import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let log = Command(
        "log", summary: "shows the store's event log, newest last",
        discussion: """
            Prints a line for each event: versions added, origins asked, downloads, switches, \
            starts, confirmations, rollbacks, bans, retirements, collections and findings. The log \
            keeps about the last two thousand events. It contains no content paths and no secrets. \
            Times are local (TZ); in JSON they are UTC.

                castree log --last 20
                castree log --since 2d
                castree log --json | jq -r '.[] | select(.event == "rollback") | .at'
            """,
        options: [
            .text(
                "since", placeholder: "WHEN",
                "only events since then: an age such as 12h or 3w, a date in UTC, or a time as "
                    + "the log prints it"
            ),
            .integer("last", in: 1...Int.max, "only the newest N events"),
            .flag("utc", "print times in UTC"),
        ]
    ) { invocation in
        let now = secondsNow()
        let since = try invocation.time("since", now: now)
        let count = try invocation.integer("last")
        var entries = try EventLog(invocation.openStore()).entries()
        if let since {
            // A clock that was once wrong neither adds old events nor hides new ones.
            let first = entries.believed(until: max(now, since)).firstIndex { $0.at >= since }
            entries.removeFirst(first ?? entries.count)
        }
        if let count { entries = entries.suffix(count) }
        return try invocation.reportDocument { writer in
            writer.objects(entries) { writer, entry in entry.writeMembers(to: &writer) }
        } text: { output in
            for entry in entries {
                output.print(
                    entry.text { invocation.flag("utc") ? timestamp($0) : localTimestamp($0) })
            }
        }
    }
}

extension EventLogEntry {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("sequence", sequence)
        writer.member("at", timestamp(at))
        writer.member("event", event.name)
        writer.member("sentence", sentence)
        writer.member("times", times)
        writer.member("since", since.map { timestamp($0) })
        writer.member("fields") { writer in
            for member in event.members {
                writer.key(member.key)
                writer.value(member.value)
            }
        }
    }

    func text(_ timestamp: (Int64) -> String) -> DisplayText {
        let style: DisplayText.Style? =
            switch event.name {
            case "rollback", "ban", "failed", "found", "lost": .red
            case "switch", "fallback", "retry", "stalePage": .yellow
            case "confirm": .green
            default: nil
            }
        let beginning = since.map { ", since \(timestamp($0))" } ?? ""
        return "\(timestamp(at)) \(sentence + beginning, style)"
    }
}
