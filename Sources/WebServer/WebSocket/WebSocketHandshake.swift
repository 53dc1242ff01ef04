package import Platform

/// The server's side of the opening handshake, as a function from request to answer (RFC 6455, section 4.2).
package enum WebSocketHandshake {
    package enum Outcome: Sendable {
        /// Send the head, then speak WebSocket; bytes after the request are WebSocket already.
        ///
        /// The transport adds `Connection: Upgrade`.
        case accepted(ResponseHead)
        case refused(Response)
    }

    package static func isAsked(for head: RequestHead) -> Bool {
        head.lists("websocket", in: "upgrade")
    }

    /// Answers a request for a WebSocket.
    ///
    /// Chooses the first of the client's subprotocols that is in `subprotocols`, or none. It
    /// accepts no extension, so permessage-deflate is declined. The caller decides whether the
    /// request's origin may connect (``BridgeOrigin``).
    /// - Throws: `.unsupported` if libcrypto offers no SHA-1.
    package static func answer(
        to head: RequestHead, isAllowedOrigin: Bool
    ) throws(StoreError) -> Outcome {
        guard head.method == .get else {
            var refusal = ResponseHead(405)
            refusal.add("Allow", "GET")
            return .refused(refusal.explained("a WebSocket request must be a GET"))
        }
        guard isAsked(for: head) else {
            return .refused(upgradeRequired("this address speaks WebSocket only"))
        }
        guard head.minorVersion >= 1, head.lists("upgrade", in: "connection") else {
            return refused(400, "a WebSocket needs HTTP/1.1 and Connection: Upgrade")
        }
        let versions = head.values(of: "sec-websocket-version")
        guard versions.count == 1, head.matches(versions[0], "13") else {
            return .refused(upgradeRequired("this server speaks WebSocket version 13"))
        }
        let keys = head.values(of: "sec-websocket-key")
        guard keys.count == 1,
            Base64.bytes(String(decoding: head.bytes[keys[0]], as: UTF8.self))?.count == 16
        else {
            return refused(400, "Sec-WebSocket-Key is not 16 bytes of Base64")
        }
        guard head.value(of: "transfer-encoding") == nil,
            head.values(of: "content-length").allSatisfy({ head.matches($0, "0") })
        else {
            return refused(400, "a WebSocket request must have no body")
        }
        guard isAllowedOrigin else {
            return refused(403, "another site may not connect to this server")
        }
        var accepted = ResponseHead(101)
        accepted.add("Upgrade", "websocket")
        accepted.add("Sec-WebSocket-Accept", try acceptValue(for: head.text(keys[0])))
        return .accepted(accepted)
    }

    private static func refused(_ status: Int, _ sentence: String) -> Outcome {
        .refused(ResponseHead(status).explained(sentence))
    }

    /// The proof that the server has read the key (RFC 6455, section 4.2.2).
    package static func acceptValue(for key: String) throws(StoreError) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Base64.string(try Digester.digest(.sha1, of: Array(text.utf8)))
    }

    /// A 426 that says what to upgrade to (RFC 6455, section 4.4; RFC 9110, section 15.5.22).
    private static func upgradeRequired(_ sentence: String) -> Response {
        var head = ResponseHead(426)
        head.add("Upgrade", "websocket")
        head.add("Connection", "Upgrade")
        head.add("Sec-WebSocket-Version", "13")
        return head.explained(sentence)
    }
}
