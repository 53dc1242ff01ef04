import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

/// A result, or the error that prevented it: a report is needed most when something is broken.
typealias Attempt<Value> = Result<Value, StoreError>

/// One document about a store: figures and names, no content, no secrets.
struct BugReport {
    /// In seconds since 1970.
    let createdAt: Int64
    let path: String
    let format: Attempt<Int>
    let system = SystemFigures.current()
    let space: Attempt<FreeSpace>
    let usage: Attempt<StoreUsage>
    let versions: Attempt<[VersionSummary]>
    let lifecycle: Attempt<Lifecycle>
    /// Public keys only: nothing in it is a secret.
    let trust: Attempt<StoreTrust>
    let events: Attempt<[EventLogEntry]>

    var json: [UInt8] {
        JSONWriter.document { writeMembers(to: &$0) } + [UInt8(ascii: "\n")]
    }

    var text: [UInt8] {
        let output = Output()
        print(to: output)
        return output.pending
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("castree", castreeVersion)
        writer.member("createdAt", timestamp(createdAt))
        writer.member("system") { writer in
            writer.member("name", system.name)
            writer.member("release", system.release)
            writer.member("machine", system.machine)
            writer.member("space", space) { writer, space in
                writer.object { writer in
                    writer.member("availableBytes", space.available)
                    writer.member("totalBytes", space.total)
                }
            }
        }
        writer.member("store") { writer in
            writer.member("path", path)
            writer.member("format", format) { writer, format in writer.integer(format) }
        }
        writer.member("usage", usage) { writer, usage in
            writer.object { usage.writeMembers(to: &$0) }
        }
        writer.member("versions", versions) { writer, versions in
            writer.objects(versions) { writer, version in version.writeMembers(to: &writer) }
        }
        writer.member("lifecycle", lifecycle) { writer, lifecycle in
            writer.object { lifecycle.writeMembers(to: &$0, includesToken: false) }
        }
        writer.member("trust", trust) { writer, trust in
            writer.objects(trust.origins) { writer, origin in origin.writeMembers(to: &writer) }
        }
        writer.member("events", events) { writer, entries in
            writer.objects(entries) { writer, entry in entry.writeMembers(to: &writer) }
        }
    }

    func print(to output: Output) {
        output.print("castree \(castreeVersion), report of \(timestamp(createdAt))")
        output.print("system \(system.name) \(system.release) \(system.machine)")
        space.print("free space", to: output) { space in
            let (available, total) = (groupedCount(space.available), groupedCount(space.total))
            output.print("\(available) of \(total) bytes")
        }
        format.print("store", to: output) { output.print("\(path), format \($0)") }
        usage.print("usage", to: output) {
            StoreFigures(usage: $0, sizes: .exact).print(to: output)
        }
        versions.print("versions", to: output) { $0.print(to: output, .exact) }
        lifecycle.print("lifecycle", to: output) {
            $0.print(to: output, includesToken: false)
        }
        trust.print("trust", to: output) { trust in
            if trust.origins.isEmpty { output.print("none: unsigned releases are accepted") }
            for origin in trust.origins { origin.print(to: output) }
        }
        events.print("events", to: output) { entries in
            if entries.isEmpty { output.print("none") }
            for entry in entries { output.print(entry.text { timestamp($0) }) }
        }
    }
}

extension Result where Failure == StoreError {
    init(_ body: () throws(StoreError) -> Success) {
        do throws(StoreError) { self = .success(try body()) } catch { self = .failure(error) }
    }

    fileprivate func print(_ heading: String, to output: Output, _ body: (Success) -> Void) {
        output.print("\n\(heading)")
        switch self {
        case .success(let value): body(value)
        case .failure(let error): output.print("unknown: \(error.message) [\(error.code)]")
        }
    }
}

extension JSONWriter {
    /// Writes a member with the result, or `{"error":{"code","message"}}`.
    fileprivate mutating func member<Value>(
        _ key: String, _ answer: Attempt<Value>, _ write: (inout JSONWriter, Value) -> Void
    ) {
        switch answer {
        case .success(let value):
            self.key(key)
            write(&self, value)
        case .failure(let error):
            member(key) { writer in
                writer.member("error") { writer in
                    writer.member("code", error.code.description)
                    writer.member("message", error.message)
                }
            }
        }
    }
}
