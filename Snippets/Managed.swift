// A whole program: an app that keeps itself up to date, and tells its page how far that is.
import CASStore
import CurlTransport
import HotPush
import ServeFromCAS
import VersionTree

guard CommandLine.arguments.count == 2 else { fatalError("usage: Managed ORIGIN") }
let versions = try VersionStore.create(at: "device").versions
var options = UpdateOptions()
options.embedded = EmbeddedVersion(directory: "www", version: "1.0")  // shipped with the app
options.app.version = "3.2.0"
options.device = "kiosk-17"  // roll-outs choose by it; it never leaves the device
let source = PullSource(CommandLine.arguments[1], into: versions, for: options) {
    () throws(StoreError) in try CurlTransport()
}
let updates = UpdateManager(versions, source: source, options: options)

// The app starts: what waited is switched to, what failed last time is left.
let boot = try await updates.start()
let server = try AppServer(versions)
try server.start()
print("version \(boot?.version ?? "") is at \(server.url)")

// The page hears how far a download is.
let telling = Task {
    for await event in updates.events() {  // progress, ready, started, rolledBack, failed …
        guard case .progress(_, let progress) = event else { continue }
        let bytes = progress.figures.bytes
        server.bridge.announce(.progress(done: bytes, total: progress.bytesTotal))
    }
}

// The page works. Without this the next start goes back.
if let boot { try await updates.confirm(boot.version, token: boot.token) }

// From time to time: asks, fetches what is missing, and switches when the policy says so.
print(try await updates.update())

telling.cancel()
server.stop()  // an app continues serving
await server.waitUntilStopped()
