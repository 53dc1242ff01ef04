import CASStore
import Console
import HotPush
import ServeFromCAS
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    static let serve = Command(
        "serve", summary: "serves the current version over HTTP on this machine",
        discussion: """
            Prints one line when it is ready, and serves until SIGINT or SIGTERM; then it answers \
            the requests in flight and ends. A page keeps the version it was loaded from. When any \
            process makes another version current, the next navigation gets that one.

                castree serve --open
                castree serve --app-id com.example.kiosk --token
                castree serve --port 8080 --proxy /api=http://127.0.0.1:3000
                castree serve --proxy '/users/*/avatar=http://127.0.0.1:4000/img/$1.png'
                castree serve --proxy /api=https://api.example
                castree serve --certificate cert.pem --key key.pem --host kiosk.example
                castree serve --confirm-within 20s
                castree serve --dashboard
                castree serve --updates https://example.org/app

            With --updates the server keeps its app up to date. It fetches what the origin offers \
            (as castree pull does), switches pages to it when --switch says, and waits for a page \
            to call castree.confirm(). If none does within --confirm-within (default: 30s), the server \
            rolls back. A mandatory release is shown at once. Standard error has a line for each \
            switch, start, confirmation and rollback.

            The port is computed from the app's identifier and remembered in the store, because \
            the app's local storage belongs to its web origin. Only this machine can connect.

            --dashboard also serves a page about the store: versions, what keeps them, running \
            downloads, the last check, and disk usage. Its address, printed on a line of its own, \
            contains a token that is new at each start; nobody can open the page without it.
            """,
        options: [
            .integer(
                "port", in: 1...65_535,
                "use this port and no other; not with --app-id or --next-port"),
            .text(
                "app-id", placeholder: "ID",
                "compute the port from this app identifier", fallback: ""),
            .flag(
                "next-port",
                "if another program uses the port, take the next free one of the twenty after it"),
            .text(
                "index", placeholder: "FILE",
                "serve the file with this name for its directory",
                fallback: "index.html"),
            .choice(
                "fallback", of: ["navigations", "none", "meteor"],
                "how to answer unknown paths: navigations (the index, for page loads only), none "
                    + "(404), meteor (the index, for nearly everything)",
                fallback: "navigations"),
            .flag("clean-urls", "/about also finds about.html"),
            .flag(
                "meteor",
                "behave like cordova-plugin-meteor-webapp: labels as ETags, its caching, no index files "
                    + "below /, and its fallback (meteor) unless --fallback is given"),
            .text(
                "shell", placeholder: "VERSION",
                "serve this version's files (Cordova's www) for paths that the current one does not "
                    + "have; never under /application",
                completion: .versions()),
            .text(
                "immutable", placeholder: "PREFIX",
                "let clients cache files below PREFIX (/assets/), except pages, for a year",
                repeats: true),
            .text(
                "header", placeholder: "'NAME: VALUE'",
                "add a header field to every file, or with '/models NAME: VALUE' to files at and "
                    + "below a path, which may have stars (/**/*.wasm); not a field that the server "
                    + "writes itself, nor a Clear-Site-Data that deletes cookies",
                repeats: true),
            .text(
                "type", placeholder: ".EXT=TYPE",
                "send files with this extension as this media type: .usdz=model/vnd.usdz+zip",
                repeats: true),
            .text(
                "proxy", placeholder: "PREFIX=URL",
                "forward URLs below PREFIX (or matching it, if it has stars) to another server, "
                    + "over http or https",
                repeats: true),
            .text(
                "proxy-ca", placeholder: "FILE",
                "also trust the certificates in FILE (PEM) when forwarding over https",
                completion: .files),
            .flag(
                "keep-secure-cookies",
                "keep the Secure attribute of other servers' cookies at http://localhost, although "
                    + "Safari then rejects them"
            ),
            .choice(
                "service-workers", of: ["allow", "refuse"],
                "refuse: answer requests for workers' scripts with 404, and let /_castree/bridge.js remove installed workers",
                fallback: "allow"),
            .text(
                "certificate", placeholder: "FILE",
                "serve over https with this certificate (PEM), followed by its issuers' "
                    + "certificates; needs --key",
                completion: .files),
            .text(
                "key", placeholder: "FILE",
                "the certificate's private key (PEM), not encrypted; needs --certificate",
                completion: .files),
            .flag(
                "token",
                "answer only requests that carry this store's token, which browsers also send to servers on other ports "
                    + "of the host name"),
            .flag(
                "new-token",
                "make a new token first, for instance after somebody has seen the old one, which is "
                    + "refused from then on; implies --token"),
            .text(
                "host", placeholder: "NAME",
                "also answer to this host name (a proxy in front, a name in /etc/hosts); not with --dashboard",
                repeats: true),
            .text(
                "confirm-within", placeholder: "TIME",
                "roll back a new version unless one of its pages confirms within this time: 20s, 500ms, "
                    + "1m, up to a day"
            ),
            .failedAttempts,
        ] + Option.updating + [
            .integer("workers", in: 1...64, "the number of serving threads", fallback: 1),
            .text(
                "access-log", placeholder: "FILE",
                "append a line for each request to this file; - is standard error",
                completion: .files),
            .flag(
                "dashboard",
                "also serve a page about the store, at the address printed; not with --host"),
            .flag("open", "open the page in the browser"),
        ]
    ) { invocation in
        try invocation.requireTasks()
        try invocation.requireFiles()
        let notices = ServerNotices(invocation.diagnostics)
        defer { notices.end() }
        // Checked before anything is made: with options that a pull refuses, there would be no updates.
        let settings = try invocation.updateSettings()
        try settings?.tryOut()
        let options = try invocation.serverOptions(notices)
        guard settings != nil else { return try invocation.serve(settings, options, notices) }
        return try invocation.leavingNoEmptyStore {
            try invocation.serve(settings, options, notices)
        }
    }
}

extension Invocation {
    fileprivate func serve(
        _ settings: UpdateSettings?, _ given: AppServerOptions, _ notices: ServerNotices
    ) throws -> ExitStatus {
        // All waits until it is ready share one limit.
        let begun = SuspendingClock.now
        let limit = try storeOptions().waitLimit
        let isAsked: @Sendable () -> Bool = { Interruption.isRequested }
        let versions = try LockDeadline.until(begun + limit, unless: isAsked) {
            try openServedStore { notices.tell($0) }
        }
        var options = given
        let log = try accessLog(notices)
        defer { log.file?.end() }
        if let append = log.append { options.accessLog = { append(RequestLine($0)) } }
        let store = ServedStore(versions) { $0.recordingEvents() }
        let hold = try settings?.hold(versions)
        defer { withExtendedLifetime(hold) {} }
        let updater = try self.updater(settings, store, notices, &options)
        if flag("dashboard") { options.dashboard = .of(store) }
        let server = try LockDeadline.until(begun + limit, unless: isAsked) {
            try makeServer(store, options)
        }
        try server.start()
        try reportReady(server)
        let opened = flag("open") ? openPage(of: server) : nil
        // If this fails, the system empties the directory of temporary files.
        defer { if let opened { try? Browser.remove(opened) } }
        try waiting {
            await withTaskCancellationHandler {
                async let updates: Void? = updater?.run(for: server)
                await server.waitUntilStopped()
                updater?.end()
                _ = await updates
            } onCancel: {
                server.stop()
                updater?.end()
            }
        }
        return Interruption.isByTerminal ? .interrupted : .done
    }

    /// Opens the app's page in the browser; returns the file that redirects to it, if one was needed.
    private func openPage(of server: AppServer) -> String? {
        do {
            guard flag("token") || flag("new-token") else {
                try Browser.open(server.url)
                return nil
            }
            return try Browser.openSecret(server.url, in: temporaryDirectory)
        } catch {
            let reason =
                (error as? StoreError)?.message ?? (error as? CommandError)?.message ?? "\(error)"
            note("\(reason); open \(server.url) yourself")
            return nil
        }
    }

    private var temporaryDirectory: String {
        let named = ["XDG_RUNTIME_DIR", "TMPDIR"].lazy.compactMap { environment($0) }
        return named.first { !$0.isEmpty } ?? "/tmp"
    }

    /// The store; created if it is missing and an origin is to fill it.
    fileprivate func openServedStore(
        notice: @escaping @Sendable (String) -> Void
    ) throws -> VersionStore {
        guard isGiven("updates") else { return try openRecordingStore(notice: notice) }
        return try openOrCreateStore(notice: notice).recordingEvents()
    }

    /// Keeps the app up to date; nil if that was not requested.
    fileprivate func updater(
        _ settings: UpdateSettings?, _ store: ServedStore, _ notices: ServerNotices,
        _ options: inout AppServerOptions
    ) throws -> Updater? {
        let tells = options.confirmation != nil
        guard let settings else {
            if tells {
                options.onLifecycleChange = { before, now in
                    for line in UpdateNews.lines(before, now) { notices.note(line) }
                }
            }
            return nil
        }
        options.confirmation = options.confirmation ?? .seconds(30)
        let updater = Updater(settings, { store.newest }) { notices.note($0) }
        options.updates = updater.asServed
        options.onLifecycleChange = { [weak updater] before, now in
            for line in UpdateNews.lines(before, now) { notices.note(line) }
            updater?.lifecycleChanged(before, now)
        }
        return updater
    }

    fileprivate func makeServer(
        _ store: ServedStore, _ options: AppServerOptions
    ) throws -> AppServer {
        do throws(StoreError) {
            return try AppServer(store, options)
        } catch {
            guard error.code == .portInUse else { throw error }
            throw StoreError(error.code, "\(error.message): \(portAdvice)")
        }
    }

    private var portAdvice: String {
        if isGiven("port") { return "--port NUMBER sets another, --app-id ID computes one" }
        let named = "--port NUMBER sets one"
        if flag("next-port") { return "the next twenty are in use, too; \(named)" }
        return "--next-port takes the next free one, \(named), --app-id ID computes one"
    }

    fileprivate func serverOptions(_ notices: ServerNotices) throws -> AppServerOptions {
        var options = AppServerOptions()
        options.site = try siteOptions()
        options.port = try portChoice()
        options.hosts = values("host")
        for host in options.hosts where !HostPolicy.isHost(host) {
            throw CommandError.usage(
                "--host takes a host as in a URL, kiosk.example or kiosk.example:8080, without scheme "
                    + "or path; not '\(host)'")
        }
        if flag("dashboard"), let host = options.hosts.first {
            throw CommandError.usage(
                "--dashboard is for this machine alone, but --host \(host) lets others in: leave one "
                    + "of them out")
        }
        options.shell = try value("shell")
        options.requiresToken = flag("token") || flag("new-token")
        options.renewsToken = flag("new-token")
        options.confirmation = try duration("confirm-within")
        options.failedAttempts = try integer("strikes") ?? Lifecycle.usualFailedAttempts
        options.workers = try integer("workers") ?? 1
        // No app here reads them.
        options.readsMessages = false
        options.notice = { notices.tell($0) }
        for route in values("proxy") { options.proxies.append(try proxy(route)) }
        try setCertificates(&options)
        return options
    }

    private func setCertificates(_ options: inout AppServerOptions) throws {
        options.proxyAuthorities = try value("proxy-ca")
        options.keepsSecureCookies = flag("keep-secure-cookies")
        options.refusesServiceWorkers = try requiredValue("service-workers") == "refuse"
        switch (try value("certificate"), try value("key")) {
        case (nil, nil): break
        case (let certificate?, let key?):
            options.certificate = ServerCertificate(certificateFile: certificate, keyFile: key)
        case (_?, nil): throw CommandError.usage("--certificate needs its private key: --key FILE")
        case (nil, _?): throw CommandError.usage("--key needs its certificate: --certificate FILE")
        }
    }

    private func portChoice() throws -> PortChoice {
        if let port = try integer("port").flatMap({ UInt16(exactly: $0) }) {
            if flag("next-port") {
                throw CommandError.usage("--port sets the port: leave --next-port out")
            }
            guard values("app-id").isEmpty else {
                throw CommandError.usage(
                    "--port sets the port, and --app-id computes it: leave one of them out")
            }
            return .exactly(port)
        }
        let app = try requiredValue("app-id")
        return flag("next-port") ? .appOrNext(app) : .app(app)
    }

    private func proxy(_ route: String) throws -> ProxyRoute {
        do {
            return try ProxyRoute(route)
        } catch { throw CommandError.usage("--proxy: \(error.message)") }
    }

    private func emptyAdvice(_ server: AppServer) -> String {
        guard server.isFollowing else { return "the current version cannot be shown yet" }
        return isGiven("updates")
            ? "there is no version yet; the first release is shown once it is downloaded"
            : "no version is current yet (castree activate)"
    }

    fileprivate func reportReady(_ server: AppServer) throws {
        try report { writer in
            writer.member("url", server.url)
            writer.member("port", Int(server.port))
            writer.member("version", server.currentVersion)
            if let dashboard = server.dashboardURL { writer.member("dashboard", dashboard) }
        } text: { output in
            let version = server.currentVersion
            output.print(
                version.map { "Serving version \($0) at \(server.url)" }
                    ?? "Serving at \(server.url); \(emptyAdvice(server))")
            if let dashboard = server.dashboardURL { output.print("The dashboard: \(dashboard)") }
        }
    }
}

extension RequestLine {
    fileprivate init(_ record: AccessRecord) {
        self.init(
            record.method, record.target, status: record.status, byteCount: record.byteCount,
            nanoseconds: record.nanoseconds, client: record.client)
    }
}
