import CASStore
import WebServer

// How a server listens, and its URLs.
extension AppHandler.Parts {
    func serverOptions(_ connections: ConnectionOptions) -> HTTPServer.Options {
        var listening = HTTPServer.Options()
        listening.tls = tls
        listening.loops = options.workers
        listening.connection = connections
        // More than browsers keep for a host: 180 cookies of 4 KiB (RFC 6265, section 6.1).
        listening.connection.parser.cookies = 768 << 10
        listening.accessLog = options.accessLog.map { log in
            let log = AccessRecord.masking(
                ReservedRoute.allSecretParameters, below: ReservedRoute.directory + "/",
                tokens: [AppHandler.tokenPrefix, DashboardHandler.tokenPrefix], in: log)
            let secrets = [token, dashboardToken].compactMap { $0 }
            return secrets.reduce(log) { AccessRecord.masking($1, in: $0) }
        }
        listening.onDamage = { [notice = options.notice, record = DamageRecord(store)] failure in
            notice(failure.message)
            record.add(failure)
        }
        return listening
    }

    func url(at port: UInt16) -> String {
        let query = token.map { "?\(AppHandler.tokenName(port: port))=\($0)" }
        // The name for which browsers accept the certificate, if there is one.
        let name = tls.flatMap { tls in (["localhost"] + options.hosts).first { tls.names($0) } }
        return "\(scheme)://\(name ?? "localhost"):\(port)/\(query ?? "")"
    }

    func dashboardURL(at port: UInt16) -> String? {
        dashboardToken.map { token in
            let name = tls.map { $0.names("127.0.0.1") ? "127.0.0.1" : "localhost" } ?? "127.0.0.1"
            return "\(scheme)://\(name):\(port)\(DashboardHandler.path)/"
                + "?\(DashboardHandler.tokenName(port: port))=\(token)"
        }
    }

    private var scheme: String { tls == nil ? "http" : "https" }
}
