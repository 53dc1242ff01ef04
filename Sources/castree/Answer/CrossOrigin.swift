import ClientSystems
import Platform
import WebServer

/// Lets pages of apps ask across origins (fetch.spec.whatwg.org, "CORS protocol").
///
/// Apps in web views, such as CodePush's plugin for Cordova, send XMLHttpRequests from origins such as `null`,
/// `ionic://localhost` and `https://localhost`, with fields of their own. The answers are public and depend on no
/// cookie or password, so every page may read them.
enum CrossOrigin {
    /// The paths of the systems whose clients run in web views; others ask from native code.
    private static let paths =
        ["/v0.1/public/codepush/", "/updateCheck", "/reportStatus/"]
        + [ClientSystem.codePush, .capgo, .chcp, .meteor].map { "/for/\($0.rawValue)/" }

    /// The fields of every answer on such a path, whatever its status; empty on others.
    static func fields(_ head: RequestHead) -> [(name: String, value: String)] {
        let path = head.bytes[head.path]
        return paths.contains { path.starts(with: $0.utf8) }
            ? [("Access-Control-Allow-Origin", "*")] : []
    }

    /// The answer to a preflight request; `nil` on other paths.
    static func preflight(_ head: RequestHead) -> PlannedResponse? {
        guard head.method == .options, !fields(head).isEmpty else { return nil }
        // Old web views do not know `*` here, so they get back what they ask for.
        let asked = head.fields.first { field in
            head.text(field.name).lowercased() == "access-control-request-headers"
        }
        let names = asked.map { head.text($0.value) }.flatMap { isListOfNames($0) ? $0 : nil }
        return PlannedResponse(
            204,
            [
                ClientRequest.Field("access-control-allow-methods", "GET, HEAD, POST, PUT, DELETE"),
                ClientRequest.Field("access-control-allow-headers", names ?? "*"),
                ClientRequest.Field("access-control-max-age", "86400"),
            ], [], head.method)
    }

    private static func isListOfNames(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 1024
            && text.utf8.allSatisfy { $0.isAlphanumeric || "-_, ".utf8.contains($0) }
    }
}
