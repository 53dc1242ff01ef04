import VersionTree

// Scripts that a service worker imports. Browsers compare them as they compare the worker's own script, so they come
// from the same version.
extension PinTable {
    /// The path of the worker's script that imports what a request asks for; `nil` if none does.
    ///
    /// For a module the browser says so. Other imports are compared right after the script, in the name of the page
    /// (Chromium), but without the hints that pages send; a page's own worker names itself or nobody. While a worker
    /// installs, it asks in its own name (``byWorker(_:_:_:_:)``).
    func importer(of head: RequestHead, _ request: PinRequest, now: Duration) -> [UInt8]? {
        // A request that had to wait was looked at before.
        guard let referrer = request.referrer, request.load == .subresource,
            head.isImportOfWorker || !request.isWorkerScript
        else { return nil }
        let browser = browserOfWorker(request, now).flatMap { browsers[$0] }
        let worker = browser?.workers.last
        if head.isForWorkersModule {
            // A module names the one that imports it.
            let isKnown = browser?.workers.contains { $0.path == referrer } ?? false
            return isKnown ? referrer : worker?.path ?? referrer
        }
        guard let browser, let worker, request.hints == 0, !browser.marks.isEmpty,
            !Responder.isAsset(referrer[...]), !browser.loads.contains(where: \.isSilent),
            head.isImportOfWorker || isInstalling(worker, browser, now)
        else { return nil }
        return worker.path
    }

    /// Notes a worker's script that was asked for without a cookie for the browser that must have it.
    ///
    /// Chromium asks so for modules. The worker sends the cookie, and gets the one that names its version.
    mutating func noteWorker(at path: [UInt8], _ version: VersionName, _ now: Duration) {
        guard let name = onlyBrowser(now) else { return }
        browsers[name]?.note(
            Worker(path: path, version: version, givenAt: now, askedAt: now, isUnsaid: true))
    }

    /// The browser that asks for a worker's script.
    func browserOfWorker(_ request: PinRequest, _ now: Duration) -> String? {
        request.cookie?.browser ?? onlyBrowser(now)
    }

    /// The browser, if only one has pages.
    private func onlyBrowser(_ now: Duration) -> String? {
        let all = browsers.filter { $0.value.loads.contains { isHeld($0, now) } }
        return all.count == 1 ? all.first?.key : nil
    }
}
