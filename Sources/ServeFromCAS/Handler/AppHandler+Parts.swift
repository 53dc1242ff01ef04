import CASStore
import Synchronization
import VersionTree

extension AppHandler {
    /// What a handler is made of: everything that exists before there is a port.
    struct Parts: Sendable {
        let options: AppServerOptions
        let store: ServedStore
        let cache: SiteCache
        let objects: ContentCache
        let bridge: Bridge
        let memory: ServerMemory
        /// Reports once that a store remembers nothing.
        let memoryFailure: FailureNotice
        let token: String?
        let pageKey: String
        let dashboardToken: String?
        let proxies: ProxyTable?
        let tls: TLSContext?

        var pageSeal: PageSeal { PageSeal(key: pageKey) }

        var startPage: StartPage { StartPage(cache: cache, objects: objects) }
    }

    /// Refers to the handler for objects made before it.
    final class Late: Sendable {
        private let state = Mutex<AppHandler?>(nil)
        var handler: AppHandler? { state.withLock { $0 } }
        func resolve(_ handler: AppHandler) { state.withLock { $0 = handler } }
    }
}

extension AppHandler.Parts {
    /// Makes the parts, in an order that changes nothing in a store that cannot be served.
    /// - Parameter late: held weakly: the handler holds the bridge, and its pins must go with the server.
    init(
        _ store: ServedStore, _ options: AppServerOptions, _ late: AppHandler.Late
    ) throws(StoreError) {
        let versions = store.versions
        try options.check()
        try versions.store.refuseStranger()
        self.options = options
        memory = try ServerMemory(versions)
        memoryFailure = FailureNotice(options.notice)
        memory.keepPrivate(versions, options.notice)
        bridge = Bridge(limits: options.bridge, keepsMessages: options.readsMessages) {
            [weak late, onSessionChange = options.onSessionChange] change in
            late?.handler?.noteSession(change)
            onSessionChange(change)
        }
        self.store = store
        cache = try SiteCache(
            store, try Self.site(options), shell: options.shell, notice: options.notice)
        try Self.protectShell(options, versions)
        token =
            options.requiresToken
            ? try Self.token(memory, versions, memoryFailure, isNew: options.renewsToken) : nil
        pageKey = try Self.pageKey(memory, versions, memoryFailure)
        dashboardToken = try options.dashboard.map { (dashboard) throws(StoreError) in
            if let token = dashboard.token { return token }
            return try randomToken() + randomToken()
        }
        proxies = try Self.proxies(options)
        tls = try Self.tls(options)
        objects = ContentCache(
            versions.store, copies: { [cache] in cache.copies(of: $0) },
            replaced: { [cache] in cache.replaced($0, by: $1) })
    }

    /// How versions are shown.
    ///
    /// If a token protects them, other ports of this machine must not see them either. The browser sends them its
    /// cookie too, and their pages could run one of the app's scripts or show a picture.
    private static func site(_ options: AppServerOptions) throws(StoreError) -> SiteOptions {
        var site = options.site
        let policy = SiteOptions.resourcePolicy
        let isSaid = site.fields.contains { $0.name.lowercased() == policy.lowercased() }
        if options.requiresToken, !isSaid { try site.add(policy, "same-origin") }
        return site
    }

    /// Protects the shell from being retired before the next start, since nothing else refers to it.
    private static func protectShell(
        _ options: AppServerOptions, _ versions: VersionStore
    ) throws(StoreError) {
        guard let shell = options.shell else { return }
        do throws(StoreError) {
            guard try versions.protect(shell) else { return }
        } catch {
            // In such a store, nothing is retired either.
            guard error.code == .readOnly else { throw error }
            return
        }
        options.notice(
            "version \(shell) is protected from now on, since it is served as the shell; castree unprotect "
                + "\(shell) lets it be retired")
    }

    /// The key of the store's cookies: the remembered one, or a new one, which lasts as long as the process if the
    /// store cannot be written.
    private static func pageKey(
        _ memory: ServerMemory, _ versions: VersionStore, _ problem: FailureNotice
    ) throws(StoreError) -> String {
        if let key = memory.pageKey { return key }
        let new = try randomToken() + randomToken()
        let key = ServerMemory.remember(versions, problem) { memory -> String in
            let key = memory.pageKey ?? new
            memory.pageKey = key
            return key
        }
        return key ?? new
    }

    /// The token of the store, the same for all its servers: the remembered one, or a new one.
    private static func token(
        _ memory: ServerMemory, _ versions: VersionStore, _ problem: FailureNotice, isNew: Bool
    ) throws(StoreError) -> String {
        if !isNew, let token = memory.token { return token }
        let new = try randomToken() + randomToken()
        let token = ServerMemory.remember(versions, problem) { memory -> String in
            let token = isNew ? new : memory.token ?? new
            memory.token = token
            return token
        }
        return token ?? new
    }

    private static func proxies(_ options: AppServerOptions) throws(StoreError) -> ProxyTable? {
        guard !options.proxies.isEmpty else { return nil }
        var proxyOptions = ProxyOptions()
        proxyOptions.authorities = options.proxyAuthorities
        proxyOptions.keepsSecureCookies = options.keepsSecureCookies
        if options.certificate != nil { proxyOptions.scheme = "https" }
        return try ProxyTable(options.proxies, options: proxyOptions)
    }

    private static func tls(_ options: AppServerOptions) throws(StoreError) -> TLSContext? {
        guard let certificate = options.certificate else { return nil }
        let tls = try TLSContext.server(certificate)
        if let objection = tls.objection { options.notice(objection) }
        return tls
    }
}
