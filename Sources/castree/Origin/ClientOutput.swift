import CASStore
import ClientSystems
import Console
import HotPush
import StrictJSON
import VersionTree

extension ClientStatus {
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("system", system.rawValue)
        writer.member("problems", problems) { writer, problem in
            writer.member("code", problem.code.description)
            writer.member("message", problem.message)
        }
        if let configuration { configuration.writeMembers(to: &writer) }
        writer.member("channels", channels) { writer, channel in
            writer.member("channel", channel.name.description)
            writer.member("published", channel.isThere)
            writer.member("offers", channel.offerCount)
            writer.member("releases", channel.live) { writer, live in
                writer.member("version", live.release.version?.name.description)
                writer.member("sequence", live.release.sequence)
                writer.member("offered", live.offer != nil)
                live.offer?.writeMembers(to: &writer)
            }
        }
    }

    func print(to output: Output) {
        output.print("\(system.rawValue): \(configuration?.baseURL ?? "damaged")")
        for (name, channel) in configuration?.sortedDeployments ?? [] {
            output.print("  \(name.isEmpty ? "(no name)" : name): channel \(channel)")
        }
        for problem in problems { output.print("  no answers: \(problem.message)") }
        for channel in channels {
            let told = "\(counted(channel.offerCount, "offer")) so far"
            output.print(
                "  channel \(channel.name): \(channel.isThere ? told : "there is none of that name yet")"
            )
            for (release, offer) in channel.live {
                let name = release.version?.name.description ?? "the embedded version"
                let ids = offer.map { $0.sentence } ?? "not offered to these clients"
                output.print("    \(name): \(ids)")
            }
        }
    }
}

extension ClientConfiguration {
    fileprivate var sortedDeployments: [(key: String, value: ChannelName)] {
        deployments.sorted { $0.key < $1.key }
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("baseURL", baseURL)
        writer.member("deployments") { writer in
            for (name, channel) in sortedDeployments { writer.member(name, channel.description) }
        }
        writer.member("folder", folder)
        writer.member("history", historyCount)
    }
}

extension ClientOffer {
    /// The ids and digests that clients know it by; empty members are left out.
    func writeMembers(to writer: inout JSONWriter) {
        if let label { writer.member("label", label) }
        if let id { writer.member("id", id) }
        if let packageHash { writer.member("packageHash", packageHash) }
        if let archive {
            writer.member("archive") { writer in
                writer.member("sha256", archive.sha256.description)
                writer.member("bytes", archive.byteCount)
            }
        }
        if let manifestDigest { writer.member("manifest", manifestDigest.description) }
        writer.member("signed", !signatures.isEmpty || documents.contains { $0.signature != nil })
        writer.member("documents", documents) { writer, document in
            writer.member("platform", document.platform)
            writer.member("runtimeVersion", document.runtimeVersion)
            writer.member("id", document.id)
            writer.member("sha256", document.address.description)
            writer.member("bytes", document.byteCount)
        }
    }

    var sentence: String {
        var parts: [String] = []
        if let label { parts.append("label \(label)") }
        if let id { parts.append("id \(id)") }
        if let packageHash { parts.append("package hash \(packageHash)") }
        if let archive {
            parts.append("archive of \(sizeText(archive.byteCount)), SHA-256 \(archive.sha256)")
        }
        // A document for all apps has the offer's id, which is printed already; an order to roll back has none.
        for document in documents where document.id != id && !document.id.isEmpty {
            var app = document.platform
            if !document.runtimeVersion.isEmpty {
                app += "\(app.isEmpty ? "" : ", ")runtime version \(document.runtimeVersion)"
            }
            parts.append("\(app.isEmpty ? "" : "\(app): ")id \(document.id)")
        }
        return parts.isEmpty ? "offered" : parts.joined(separator: ", ")
    }
}

extension [ClientOutcome] {
    /// Writes the outcomes for the clients of other systems; the same member if there are none.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("clients", self) { writer, outcome in
            writer.member("system", outcome.system.rawValue)
            writer.member("offered", outcome.prepared != nil)
            writer.member("objections", outcome.objections) { writer, objection in
                writer.member("refuses", objection.refuses)
                writer.member("message", objection.message)
            }
            outcome.prepared?.offer.writeMembers(to: &writer)
        }
    }

    /// - Parameter isDryRun: whether nothing was written; then objections are printed, which otherwise are notices.
    func print(to output: Output, isDryRun: Bool) {
        for outcome in self {
            let system = outcome.system.rawValue
            if let offer = outcome.prepared?.offer {
                output.print("\(system): \(offer.sentence)")
            } else {
                output.print("\(system): not offered")
            }
            guard isDryRun else { continue }
            for objection in outcome.objections { output.print("  \(objection.message)") }
        }
    }
}
