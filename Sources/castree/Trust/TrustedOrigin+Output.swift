import CASStore
import Console
import HotPush
import StrictJSON
import VersionTree

// How an origin is shown whose releases must be signed.

extension TrustedOrigin {
    /// Writes it as JSON.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("places", places)
        writer.member("origin", id)
        writer.member("keys", keys.map(\.id))
        writer.member("threshold", threshold)
        if let version { writer.member("trustVersion", Int(version)) }
        writer.member("sequences") { writer in
            for (channel, sequence) in sequences.sorted(by: { $0.key < $1.key }) {
                writer.member(channel, Int(sequence))
            }
        }
        writer.member("latest", latest > 0 ? timestamp(latest) : nil)
    }

    /// Prints it for people.
    func print(to output: Output) {
        output.print("\(places.first ?? id ?? "")")
        for place in places.dropFirst() { output.print("  also \(place)") }
        output.print("  origin \(id ?? "not known yet: the first verified pointer says it")")
        let count = threshold == 1 ? "one must have signed" : "\(threshold) must have signed"
        output.print("  keys \(keys.map(\.id).joined(separator: ", ")); \(count)")
        if let version { output.print("  version \(version) of its trust") }
        for (channel, sequence) in sequences.sorted(by: { $0.key < $1.key }) {
            output.print("  channel \(channel): verified up to \(sequence)")
        }
        if latest > 0 { output.print("  signed at \(timestamp(latest)) at the latest") }
    }

    /// Notes in the event log whose releases are taken from now on.
    func record(in versions: VersionStore) {
        Journal(versions).record(
            .trusting(
                origin: places.first ?? id ?? "", keys: keys.map(\.id), threshold: threshold))
    }
}
