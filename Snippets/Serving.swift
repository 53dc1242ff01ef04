// A whole program: a version of a store behind https, with an API of another server below `/api`.
import CASStore
import ServeFromCAS
import VersionTree

let arguments = CommandLine.arguments
guard arguments.count == 5 else { fatalError("usage: Serving STORE CERTIFICATE KEY API-URL") }
let versions = try VersionStore.open(arguments[1])

var options = AppServerOptions()
options.port = .appOrNext("org.example.kiosk")  // the same at every start: a web origin includes it
options.certificate = ServerCertificate(certificateFile: arguments[2], keyFile: arguments[3])
options.proxies = [try ProxyRoute("/api=\(arguments[4])")]
options.confirmation = .seconds(20)  // a page of a new version has so long until it confirms

// How a version is shown as a site.
options.site.hasCleanURLs = true  // /about is about.html
options.site.immutablePrefixes = ["/assets/"]  // kept for a year without asking again
try options.site.add("x-frame-options", "DENY")

// Both are called on threads that serve: return soon.
options.accessLog = { print("\($0.method) \($0.target) \($0.status) \($0.byteCount)") }
options.notice = { print("note: \($0)") }

let server = try AppServer(versions, options: options)
try server.start()
print("\(server.currentVersion ?? "nothing") is at \(server.url)")
await server.waitUntilStopped()
