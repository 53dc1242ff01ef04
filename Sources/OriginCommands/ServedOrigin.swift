import CASStore
package import ClientSystems
package import Console
package import HotPush
import StoreCommands

/// An origin that is about to answer.
package struct ServedOrigin: Sendable {
    /// Its files.
    package let origin: DirectoryOrigin
    /// What its clients are answered.
    package let answers: OriginAnswers
}

extension Invocation {
    /// The origin that the command line names, with whose pointers count and where it is for clients.
    ///
    /// - Throws: `usage`; `.noOrigin`; `.badOrigin` for one that is not in a directory; `.badKey`.
    package func servedOrigin() throws -> ServedOrigin {
        let text = argument("ORIGIN")
        let reference = try origin(text)
        if let channel = reference.channel {
            throw CommandError.usage(
                "ORIGIN must be the origin's directory, not the pointer of channel \(channel)")
        }
        guard case .directory(let path) = reference.location else {
            throw StoreError(
                .badOrigin,
                "'\(text)' is not on this machine; clients of other systems are answered from a directory: "
                    + "copy the origin to one (castree publish --all-of, rsync)")
        }
        let origin = try DirectoryOrigin(path)
        let reader = OriginReader(origin, trust: try servedTrust(), baseURL: try baseURL())
        return ServedOrigin(origin: origin, answers: OriginAnswers(reader))
    }

    private func servedTrust() throws -> OriginTrust? {
        let files = values("trust")
        guard !files.isEmpty else { return nil }
        var keys: [VerificationKey] = []
        for file in files { keys.append(try VerificationKey(file: file)) }
        return try OriginTrust(keys)
    }

    private func baseURL() throws -> String? {
        guard var url = try value("base-url") else { return nil }
        while url.hasSuffix("/") { url.removeLast() }
        if let problem = ClientConfiguration.problem(ofBaseURL: url) {
            throw CommandError.usage("--base-url '\(url)': \(problem)")
        }
        return url
    }
}
