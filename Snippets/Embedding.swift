// A whole program: an app that makes each call itself, where `UpdateManager` decides otherwise than it wants.
import CASStore
import CurlTransport
import HotPush
import VersionTree

guard CommandLine.arguments.count == 2 else { fatalError("usage: Embedding ORIGIN") }

// Opens the store, or makes it: at every start of the process.
var storeOptions = StoreOptions()
storeOptions.notice = { print("note: \($0)") }  // what went otherwise than expected, and was mended
let (versions, isNew) = try VersionStore.create(at: "device", options: storeOptions)
if isNew { print("the first start on this device") }

// What was shipped with the app is a version as any other, and the last way back.
let shipped = EmbeddedVersion(directory: "www", version: "1.0")
let adopted = try versions.adopt(shipped, app: AppTraits())
if adopted.becameCurrent { print("showing what was shipped, \(adopted.version)") }

// The app starts: counted before anything is shown, so that a crash is counted too.
let boot = try versions.boot()
if let left = boot.rolledBackFrom { print("\(left) did not work") }

// A web view that reads the directory itself: nobody retires the version as long as the pin lives.
let pin = try versions.pin(boot.version)
print("show device/versions/\(pin.version)/index.html")

// The page works; or you know that it does not.
do {
    _ = try versions.confirm(boot.version, token: boot.token)
} catch {
    guard error.code == .wrongToken else { throw error }
    print("that start is over: \(error)")
}

// News? One small request if there are none.
var options = PullOptions()
options.app.version = "3.2.0"
options.progress = { print("\($0.figures.bytes) of \($0.bytesTotal) bytes") }
let pull = Pull(into: versions, over: try CurlTransport(), options)
do {
    if case .release(let found) = try pull.ask(CommandLine.arguments[1]) {
        let plan = try pull.plan(found)  // what it costs, before a byte is fetched
        let report = try pull.fetch(plan, of: found)
        try versions.activateAtNextBoot(report.version)  // `activate` switches at once
    }
} catch {
    guard error.code == .network else { throw error }
    print("no news today: \(error.message)")  // what has come is kept; try again later
}

// The user says that it does not work: goes back, and bans the content under any name.
func leave() throws(StoreError) {
    let (current, from) = try versions.rollback(reason: "left by the user")
    print("\(current) again; \(from) stays banned until `versions.unban(\"\(from)\")`")
}

// An index, a search, a page made from content: what a version consists of, and the bytes.
let manifest = try versions.manifest(of: boot.version)
if let entry = manifest.entries.first(where: { "\($0.path)" == "index.html" }),
    let page = try versions.store.read(entry.address, limit: 1 << 20)
{
    print("\(entry.path) has \(page.count) bytes in the store")
}
withExtendedLifetime(pin) {}
