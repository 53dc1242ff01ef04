import CASStore
import Console
import CurlTransport
import HotPush
import S3
import Storage
import StoreCommands

// How the origin that a command names is reached: by the options of the command line, for a bucket also by AWS's usual
// variables and files.

extension Invocation {
    // MARK: Its name

    /// Reads the name of an origin; a bad `s3://…` is a wrong command line.
    /// - Throws: `usage`; for other origins `.badOrigin`, `.badChannelName`.
    func origin(_ text: String) throws -> OriginReference {
        guard BucketLocation.isOne(text) else { return try OriginReference(parsing: text) }
        let reference = try parsed { () throws(StoreError) in try OriginReference(parsing: text) }
        if case .bucket(let bucket) = reference.location,
            OriginLayout.isInsideOrigin(bucket.prefix)
        {
            throw CommandError.usage(
                "\(bucket) is inside another origin, whose prunes would delete its files; choose another "
                    + "prefix")
        }
        return reference
    }

    /// Reads the name of a whole origin in a bucket.
    /// - Throws: `usage`, also for the pointer of a channel.
    func bucketOrigin(_ text: String) throws -> BucketLocation {
        let reference = try origin(text)
        guard case .bucket(let bucket) = reference.location else {
            throw CommandError.usage("'\(text)' is no origin in a bucket: s3://BUCKET/PREFIX")
        }
        guard reference.channel == nil else {
            throw CommandError.usage(
                "'\(text)' is the pointer of a channel: name the origin itself, \(bucket)")
        }
        return bucket
    }

    var isOriginInBucket: Bool { BucketLocation.isOne(argument("ORIGIN")) }

    // MARK: The way to it

    func connectionOptions() throws -> TransportOptions {
        var options = TransportOptions()
        options.stallTimeout = try duration("timeout") ?? options.stallTimeout
        options.userAgent = "castree/\(program.version)"
        if isDeclared("cacert") { options.certificatesFile = try certificatesFile() }
        guard isDeclared("connect-timeout") else {
            options.connectTimeout = min(options.connectTimeout, options.stallTimeout)
            return options
        }
        options.connectTimeout = try duration("connect-timeout") ?? options.connectTimeout
        options.totalTimeout = try duration("total-timeout")
        options.proxy = try proxy()
        return options
    }

    /// The proxy's URL.
    ///
    /// Its scheme is checked here: for an unknown one libcurl reports that it cannot connect, which would be retried
    /// for a minute.
    private func proxy() throws -> String? {
        let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        guard let proxy = try value("proxy") else { return nil }
        if let end = proxy.firstRange(of: "://"),
            !schemes.contains(proxy[..<end.lowerBound].lowercased())
        {
            let known = schemes.map { $0 + "://" }.joined(separator: " ")
            throw CommandError.usage("--proxy must begin with one of " + known)
        }
        return proxy
    }

    /// The bucket at a location, which is not contacted yet.
    /// - Throws: `usage` for a bad endpoint or region, `.credentials`; the error that keeps libcurl from working.
    func openBucket(
        _ location: BucketLocation, tellsRetries: Bool = true
    ) throws -> any ObjectStorage {
        try bucket(location, connectionOptions(), tellsRetries: tellsRetries).storage
    }

    private func bucket(
        _ location: BucketLocation, _ connections: TransportOptions, tellsRetries: Bool = true
    ) throws -> OriginBucket {
        var access = BucketAccess()
        access.environment = environment
        access.endpoint = try value("endpoint")
        access.region = try value("region")
        access.profile = try value("profile")
        access.isAnonymous = flag("anonymous")
        if isDeclared("jobs") {
            access.requestCountMax = try integer("jobs") ?? access.requestCountMax
        }
        access.failureCountMax = try retryPolicy().failureCountMax
        access.connections = connections
        access.isInterrupted = { Interruption.isRequested }
        access.notice = { note($0) }
        access.tellsRetries = tellsRetries
        do throws(StoreError) {
            return try OriginBucket(location, access)
        } catch {
            guard error.code == .badOrigin else { throw error }
            throw CommandError.usage(error.message)
        }
    }

    /// The transport to an origin, which signs requests if it is in a bucket.
    /// - Throws: as ``openBucket(_:tellsRetries:)``.
    func transport(
        to location: OriginLocation, _ options: TransportOptions
    ) throws -> any Transport {
        switch location {
        case .directory(let path):
            if isDeclared("netrc-file"), isGiven("netrc-file") {
                throw CommandError.usage("--netrc-file is for web origins: http:// or https://")
            }
            return DirectoryTransport(path, byteRateMax: options.byteRateMax)
        case .web(let url):
            var options = options
            options.credentials = try CredentialSearch(self).credentials(for: url)
            return try CurlTransport(options)
        case .bucket(let bucket):
            return try self.bucket(bucket, options).transport(options)
        }
    }

    /// Refuses options about buckets if the only origin named is none.
    func refuseBucketAccess(to location: OriginLocation) throws(CommandError) {
        if case .bucket = location { return }
        try refuse(Option.bucketAccess, "is for origins in buckets: s3://BUCKET/PREFIX")
    }

    func retryPolicy() throws -> RetryPolicy {
        var policy = RetryPolicy()
        policy.failureCountMax = (try integer("retries") ?? 8) + 1
        if isGiven("retries") { policy.unreachedCountMax = policy.failureCountMax }
        if isDeclared("least-rate") {
            policy.leastRate = try byteCount("least-rate") ?? policy.leastRate
            if let timeout = try duration("timeout") {
                policy.dripTime = min(timeout, .seconds(60))
            }
        }
        return policy
    }

    /// Asks an origin; if there is no origin, no such channel or no such release, the error exits with `notFound`.
    func askedOrigin<Answer>(_ ask: () throws(StoreError) -> Answer) throws -> Answer {
        do throws(StoreError) {
            return try ask()
        } catch {
            guard [.notFound, .noOrigin, .notOffered].contains(error.code) else { throw error }
            throw CommandError(error, .notFound)
        }
    }
}

/// Finds the user of a web origin, but never on the command line, which everybody can read.
///
/// The URL comes first, and needs no search; then `--netrc-file`, the environment, systemd's credentials
/// (systemd.exec(5), `$CREDENTIALS_DIRECTORY`), `$NETRC`, `~/.netrc`. Only the first source found counts.
struct CredentialSearch {
    private let invocation: Invocation
    private let fileSystem = POSIXFileSystem()

    private static let byteCountMax = 8 << 10

    init(_ invocation: Invocation) { self.invocation = invocation }

    /// The credentials for an origin.
    /// - Parameter url: a URL of the origin.
    /// - Throws: `usage` for incomplete or unsendable credentials; what reading throws.
    func credentials(for url: String) throws -> OriginCredentials {
        if invocation.isDeclared("netrc-file"), let file = try invocation.value("netrc-file") {
            guard System.isReadable(file) else {
                throw CommandError.usage(
                    "--netrc-file takes a file that can be read, not '\(file)'")
            }
            return try netrc(file, url) ?? OriginCredentials(.address, for: url)
        }
        let named = try kind("the environment") { name in
            invocation.environment("CASTREE_ORIGIN_" + name.uppercased())
        }
        if let named { return OriginCredentials(named, for: url) }
        if let directory = set("CREDENTIALS_DIRECTORY") {
            let given = try kind("$CREDENTIALS_DIRECTORY") { name in
                try line(of: "\(directory)/castree-origin-\(name)")
            }
            if let given { return OriginCredentials(given, for: url) }
        }
        if let file = set("NETRC") ?? set("HOME").map({ $0 + "/.netrc" }),
            let found = try netrc(file, url)
        {
            return found
        }
        return OriginCredentials(.address, for: url)
    }

    private func set(_ variable: String) -> String? {
        invocation.environment(variable).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Interprets three values: a token, or a user and a password.
    private func kind(
        _ place: String, _ find: (_ name: String) throws -> String?
    ) throws -> OriginCredentials.Kind? {
        func value(_ name: String) throws -> String? {
            guard let text = try find(name), !text.isEmpty else { return nil }
            guard text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
                throw CommandError.usage(
                    "the \(name) of the origin in \(place) has a control character")
            }
            return text
        }
        switch (try value("token"), try value("user"), try value("password")) {
        case (nil, nil, nil): return nil
        case (let token?, nil, nil): return .token(token)
        case (nil, let user?, let password?):
            // RFC 7617, section 2: the first colon ends the user.
            guard !user.contains(":") else {
                throw CommandError.usage("the user of the origin in \(place) has a colon")
            }
            return .login(user: user, password: password)
        default:
            throw CommandError.usage(
                "\(place) has to name a token of the origin, or a user and a password, and not both"
            )
        }
    }

    private func line(of file: String) throws -> String? {
        let here = POSIXFileSystem.workingDirectory
        do throws(StoreError) {
            var bytes = try fileSystem.contents(here, file, limit: Self.byteCountMax)
            if bytes.last == 10 { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw StoreError(.io, "\(printable(file)) is not a text file")
            }
            return text
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func netrc(_ file: String, _ url: String) throws -> OriginCredentials? {
        guard let mode = System.mode(of: file) else { return nil }
        // libcurl reads the file for each request, and would wait for a writer.
        guard !System.isFifo(file) else {
            throw CommandError.usage(
                "\(printable(file)) is a fifo; a netrc file is read more than once")
        }
        if mode & 0o004 != 0 {
            invocation.diagnostics.warn(
                code: "netrcReadable",
                "everybody on this machine can read \(printable(file)): chmod 600 it")
        }
        return OriginCredentials(.netrc(file), for: url)
    }
}
