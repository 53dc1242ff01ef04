import CASStore
import ClientSystems
import Console
import HotPush
import Origin
import S3
import StoreCommands

// The commands whose first word is `origin`: clients of other systems update from a castree origin.

extension Command {
    static let originServe = Command(
        "origin serve", summary: "serves an origin to other systems' clients",
        discussion: """
            Existing clients of CodePush, Expo, hot-updater, Capgo, chcp and Meteor update from \
            the origin, unchanged, once 'castree origin enable' has enabled their system. The \
            origin's files are served, too, so castree's own devices can also use it.

                castree origin enable /srv/www/updates codepush --base-url https://u.example.org \\
                    --deployment KEY=stable
                castree origin serve /srv/www/updates
                castree origin serve /srv/www/updates --listen 127.0.0.1:8090 --access-log -

            Prints one line when it is ready, and serves until SIGINT or SIGTERM; then it answers \
            the requests in flight and ends. It needs no store and writes nothing. Changes by \
            publish, withdraw and prune take effect with the next request. A request sees the \
            origin before or after a change, never a mixture.

            For an origin in a bucket, --cache names a directory that keeps each needed file once \
            it has been fetched. The server looks for changes at intervals of --refresh. Above \
            --cache-size it deletes the least recently used files, but never one that is being \
            sent. If the bucket cannot be reached, it continues to answer from the cache. Only one \
            server can use a cache at a time.

                castree origin serve s3://updates/app --cache /var/cache/castree

            It speaks plain http; put a web server with a certificate in front of it. All URLs in \
            answers begin with the base URL of 'castree origin enable', whatever the request says. \
            The access log has no queries, because these identify devices. Each line ends with the \
            client's address, which is the web server's unless --forwarded-by names that server.

            With --trust, only pointers that the key has signed count; clients of any other \
            channel get 503, and standard error says why. The server remembers nothing between \
            starts. If the keys have changed, give their version with --trust-version (castree \
            trust rotate prints it), so that no older pointer counts.
            """,
        arguments: [.servedOrigin],
        options: [
            .text(
                "listen", placeholder: "ADDRESS:PORT",
                "listen on this address; [::1]:8090 for IPv6, port 0 for any free port",
                fallback: "127.0.0.1:8090"),
            .baseURL, .servedTrust, .servedTrustVersion,
            .integer("workers", in: 1...64, "the number of serving threads", fallback: 1),
            .text(
                "access-log", placeholder: "FILE",
                "append a line for each request to this file; - is standard error",
                completion: .files),
            .text(
                "forwarded-by", placeholder: "ADDRESS",
                "take the client's address from X-Forwarded-For of this proxy or block of proxies "
                    + "(10.0.0.0/8); repeatable",
                repeats: true),
        ] + Option.mirroring, statuses: .served
    ) { try $0.serveOrigin() }.reportingMissing

    static let originAnswer = Command(
        "origin answer", summary: "prints the answer that another system's client would get",
        discussion: """
            Asks the origin as a client would, without a server, for tests or to see why a device \
            gets a given answer. URL is a path with its query, or a whole URL.

                castree origin answer /srv/www/updates GET \\
                    '/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0'
                castree origin answer ./origin GET /for/expo/manifest --header 'expo-platform: ios'
                castree origin answer ./origin GET \\
                    https://u.example.org/for/codepush/archives/C.zip --output release.zip

            With --request, a file holds the whole request as it goes over the wire: request \
            line, fields, an empty line, body. The exit status is 0 whatever the answer, except \
            with --output: only a successful answer replaces the file, in one step; any other \
            makes the command fail.

            From an origin in a bucket, only the files that the answer needs are fetched. --cache \
            keeps them for the next time.
            """,
        arguments: [
            .servedOrigin, Argument("METHOD", "GET, HEAD or POST", .optional),
            Argument("URL", "the requested path or URL", .optional),
        ],
        options: [
            .text(
                "header", placeholder: "'NAME: VALUE'", "a field of the request", repeats: true),
            .text(
                "body", placeholder: "FILE", "the body of the request", completion: .files),
            .text(
                "request", placeholder: "FILE", "the whole request, instead of METHOD and URL",
                completion: .files),
            .text(
                "output", placeholder: "FILE", "write the body of the answer to this file",
                completion: .files),
            .baseURL, .servedTrust, .servedTrustVersion,
        ] + Option.mirroring.filter { $0.name != "refresh" }, statuses: .served
    ) { try $0.answerOrigin() }.reportingMissing
}

extension Argument {
    fileprivate static let servedOrigin = Argument(
        "ORIGIN", "the origin's directory, or s3://BUCKET/PREFIX", completion: .directories)
}

extension Option {
    static let mirroring: [Option] =
        [
            .text(
                "cache", placeholder: "DIR",
                "keep files of an s3:// origin in this directory, which is created if missing",
                completion: .directories),
            .text(
                "cache-size", placeholder: "BYTES",
                "keep at most this much; K, M and G are powers of 1024", fallback: "10G"),
            .text(
                "refresh", placeholder: "TIME",
                "look for changes to an s3:// origin this often", fallback: "10s"),
        ] + servingBucket

    fileprivate static let baseURL = Option.text(
        "base-url", placeholder: "URL",
        "begin URLs in answers with this [default: the base URL of 'castree origin enable']")

    fileprivate static let servedTrust = Option.text(
        "trust", placeholder: "FILE",
        "answer only from releases that this public key has signed; repeatable, one of them is enough",
        repeats: true, completion: .files)

    fileprivate static let servedTrustVersion = Option.integer(
        "trust-version", in: 1...Int(TrustFile.versions.upperBound),
        "treat the given keys as the complete version N of the origin's key list; ignore older signatures"
    )
}

struct ServedOrigin: Sendable {
    let answers: OriginAnswers
    let mirror: OriginMirror?
}

extension Invocation {
    /// The origin that the command line names, with its trusted keys and its URL for clients.
    /// - Parameter mirror: makes the mirror of one in a bucket.
    /// - Throws: `usage`; `.noOrigin`; `.badOrigin` for one that is neither in a directory nor in a bucket;
    ///   `.badKey`.
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
            whyUnseen: { [mirrored] in mirrored?.whyUnseen($0) }, tell: tellOfPatches())
        return ServedOrigin(answers: OriginAnswers(reader), mirror: mirrored)
    }

    /// Reports once each what is wrong with patches, which clients do without.
    private func tellOfPatches() -> @Sendable (StoreError) -> Void {
        let tell = PublisherOptions.once { [diagnostics] in
            diagnostics.warn(code: "damagedPatch", $0)
        }
        return { tell("\($0.message); clients get whole files") }
    }

    /// Does work that ends with an exit status of its own if the bucket cannot be reached.
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
