// A whole program: a release on its way from where it is built to a page that shows it.
import CASStore
import CurlTransport
import HotPush
import Origin
import ServeFromCAS
import VersionTree

// Where releases are built: a store, and an origin that any web server can serve.
let builds = try VersionStore.create(at: "builds").versions
try builds.add(directory: "releases/1.0", version: "1.0")
let published = try Publisher("origin").publish("1.0", of: builds)
print("published \(published.objects.count) objects, \(published.byteCount) bytes")

// On a device: a store of its own. Here the origin is a directory; a URL is used in the same way.
let versions = try VersionStore.create(at: "device").versions
let pull = Pull(into: versions, over: try CurlTransport())
if case .release(let found) = try pull.ask("origin") {
    let plan = try pull.plan(found)  // what it costs, before a byte is fetched
    let report = try pull.fetch(plan, of: found)  // verified; what has come survives a kill
    try versions.activateAtNextBoot(report.version)
    let figures = report.figures
    print("fetched \(figures.bytes) of \(plan.byteCount) bytes, \(figures.reusedBytes) were here")
}

// The app starts: counted before anything is shown, so that a crash is counted too.
let boot = try versions.boot()
let server = try AppServer(versions)
try server.start()
print("version \(boot.version) is at \(server.url)")

// The page works. Without this the next boot goes back, and bans what failed.
try versions.confirm(boot.version, token: boot.token)
print("known good: \(try versions.lifecycle().knownGood)")

server.stop()  // an app continues serving
await server.waitUntilStopped()
