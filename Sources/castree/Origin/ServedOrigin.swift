import CASStore
import ClientSystems
import Console
import HotPush
import S3
import Storage
import StoreCommands

/// An origin that is about to answer.
struct ServedOrigin: Sendable {
    /// What its clients are answered.
    let answers: OriginAnswers
    /// What brings its files from a bucket; `nil` for one that is a directory.
    let mirror: OriginMirror?
}

extension Invocation {
    /// The origin that the command line names, with whose pointers count and where it is for clients.
    ///
    /// - Parameter mirror: makes the mirror of one in a bucket.
    /// - Throws: `usage`; `.noOrigin`; `.badOrigin` for one that is neither in a directory nor in a bucket; `.badKey`.
    func servedOrigin(
        _ mirror: (BucketLocation) throws -> OriginMirror
    ) throws -> ServedOrigin {
        let text = argument("ORIGIN")
        let reference = try origin(text)
        if let channel = reference.channel {
            throw CommandError.usage(
                "ORIGIN must be the origin's directory, not the pointer of channel \(channel)")
        }
        let (trust, baseURL) = (try self.servedTrust(), try self.baseURL())
        let origin: DirectoryOrigin
        var mirrored: OriginMirror?
        switch reference.location {
        case .directory(let path):
            let names = Option.mirroring.map(\.name)
            try refuse(
                command.options.filter { names.contains($0.name) },
                "is for origins in buckets: s3://BUCKET/PREFIX")
            origin = try DirectoryOrigin(path)
        case .bucket(let bucket):
            let made = try mirror(bucket)
            origin = try reached { () throws(StoreError) in try made.begin() }
            mirrored = made
        case .web:
            throw StoreError(
                .badOrigin,
                "'\(text)' is a web server; clients of other systems are answered from a directory, or from a bucket: "
                    + "s3://BUCKET/PREFIX")
        }
        let reader = OriginReader(
            origin, trust: trust, baseURL: baseURL,
            whyUnseen: { [mirrored] in mirrored?.whyUnseen($0) })
        return ServedOrigin(answers: OriginAnswers(reader), mirror: mirrored)
    }

    /// What a bucket that cannot be reached ends with has an exit status of its own.
    private func reached<Value>(_ work: () throws(StoreError) -> Value) throws -> Value {
        do throws(StoreError) { return try work() } catch {
            if error.code == .network { throw CommandError(error, .offline) }
            throw error
        }
    }

    private func servedTrust() throws -> OriginTrust? {
        let files = values("trust")
        let version = try integer("trust-version").map { Int64($0) }
        if files.isEmpty {
            guard version == nil else {
                throw CommandError.usage(
                    "--trust-version says of which version the keys of --trust are: name these, too"
                )
            }
            return nil
        }
        var keys: [VerificationKey] = []
        for file in files { keys.append(try VerificationKey(file: file)) }
        return try OriginTrust(keys, version: version)
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
