import CASStore
import ClientSystems
import Console
import HotPush
import S3
import StoreCommands

// The commands whose first word is `origin`: clients of other systems update from a castree origin.

extension Command {
    static let originServe = Command(
        "origin serve", summary: "answers the clients of other systems from an origin",
        discussion: """
            Clients of CodePush, Expo, hot-updater, Capgo, chcp and Meteor that are in the field \
            already update from the origin, unchanged, if 'castree origin enable' has made it \
            speak to them. castree's own devices do as well: the origin's files are served beside.

                castree origin enable /srv/www/updates codepush --base-url https://u.example.org \
            --deployment KEY=stable
                castree origin serve /srv/www/updates
                castree origin serve /srv/www/updates --listen 127.0.0.1:8090 --access-log -

            Prints one line when it is ready, and serves until SIGINT or SIGTERM; then it answers \
            the requests in flight and ends. It needs no store and writes nothing. What is \
            published, withdrawn or pruned counts from the next request on. A request gets the \
            answer of before a change or that of after it, never a mixture.

            Of an origin in a bucket, --cache names a directory for the files that are needed, each \
            fetched once. It looks for changes every --refresh. Files that were used longest ago go \
            when there are more than --cache-size, none while it is sent. If the bucket cannot be \
            reached, what is there goes on being answered. One server uses a cache at a time.

                castree origin serve s3://updates/app --cache /var/cache/castree

            It speaks plain http: put a web server with a certificate in front of it. All URLs in \
            answers begin with what 'castree origin enable' was told, not with what a request \
            says. The access log has no queries, for these name devices, and ends each line with \
            the client's address: the web server's, unless --forwarded-by names that.

            With --trust only pointers count that the key has signed; if one does not, its \
            channel's clients get 503, and standard error says why. A server that begins knows \
            nothing but the keys: if these have changed, --trust-version says of which version they \
            are (castree trust rotate names it), and no older pointer counts.
            """,
        arguments: [.servedOrigin],
        options: [
            .text(
                "listen", placeholder: "ADDRESS:PORT",
                "listen there; [::1]:8090 for IPv6, port 0 for any that is free",
                fallback: "127.0.0.1:8090"),
            .baseURL, .servedTrust, .servedTrustVersion,
            .integer("workers", in: 1...64, "threads that serve", fallback: 1),
            .text(
                "access-log", placeholder: "FILE",
                "append a line for every request; - is standard error", completion: .files),
            .text(
                "forwarded-by", placeholder: "ADDRESS",
                "believe X-Forwarded-For of this proxy, or block of them (10.0.0.0/8), to name the client; repeatable",
                repeats: true),
        ] + Option.mirroring, statuses: .served
    ) { try $0.serveOrigin() }.reportingAbsence

    static let originAnswer = Command(
        "origin answer", summary: "prints what a client of another system would be answered",
        discussion: """
            Asks the origin as a client would, with no server: for tests, and to see why a device \
            gets what it gets. URL is a path with its query, or a whole URL.

                castree origin answer /srv/www/updates GET '/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0'
                castree origin answer ./origin GET /for/expo/manifest --header 'expo-platform: ios'
                castree origin answer ./origin GET https://u.example.org/for/codepush/archives/C.zip --output release.zip

            With --request, a file has all of it, as it goes over the wire: request line, fields, \
            an empty line, body. The exit status is 0 whatever the answer's status is. With --output, \
            an error is written to no file and is the command's failure; a file is replaced in one step.

            An origin in a bucket is asked for what the answer needs; with --cache it is kept there \
            for the next time.
            """,
        arguments: [
            .servedOrigin, Argument("METHOD", "GET, HEAD or POST", .optional),
            Argument("URL", "what is asked for", .optional),
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
    ) { try $0.answerOrigin() }.reportingAbsence
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
                "keep what comes from an s3:// origin there; made if need be",
                completion: .directories),
            .text(
                "cache-size", placeholder: "BYTES",
                "at most so much of it; K, M and G are powers of 1024", fallback: "10G"),
            .text(
                "refresh", placeholder: "TIME",
                "look this often whether an s3:// origin has changed", fallback: "10s"),
        ] + servingBucket

    fileprivate static let baseURL = Option.text(
        "base-url", placeholder: "URL",
        "URLs in answers begin with this [else with what 'castree origin enable' was told]")

    fileprivate static let servedTrust = Option.text(
        "trust", placeholder: "FILE",
        "answer only from what this public key has signed; repeatable, one of them is enough",
        repeats: true, completion: .files)

    fileprivate static let servedTrustVersion = Option.integer(
        "trust-version", in: 1...Int(TrustFile.versions.upperBound),
        "these are all keys of this version of the origin's trust: what is older counts not")
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
            whyUnseen: { [mirrored] in mirrored?.whyUnseen($0) })
        return ServedOrigin(answers: OriginAnswers(reader), mirror: mirrored)
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
