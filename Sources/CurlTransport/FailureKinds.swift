internal import CCurl
internal import HotPush

/// Maps libcurl's result codes (libcurl-errors(3)) to kinds of failures.
///
/// Codes of protocols that this transport never speaks are `request`: they cannot occur, and a retry would not help.
enum FailureKinds {
    /// - Parameters:
    ///   - hasSent: whether the request was on its way, which changes the meaning of some codes.
    ///   - message: libcurl's words, which distinguish a cut handshake from a refused one.
    static func kind(of code: CURLcode, hasSent: Bool, message: String) -> TransferFailure.Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST:
            .resolve
        case CURLE_COULDNT_CONNECT, CURLE_NO_CONNECTION_AVAILABLE, CURLE_PROXY,
            CURLE_QUIC_CONNECT_ERROR:
            .connect
        case CURLE_OPERATION_TIMEDOUT:
            hasSent ? .timeout : .connect
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_SEND_FAIL_REWIND, CURLE_SSL_SHUTDOWN_FAILED,
            CURLE_AGAIN:
            .broken
        case CURLE_SSL_CONNECT_ERROR:
            isCutHandshake(message) ? .connect : .security
        case CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT:
            .security
        case CURLE_TOO_MANY_REDIRECTS:
            .redirect
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR,
            CURLE_RANGE_ERROR, CURLE_BAD_DOWNLOAD_RESUME, CURLE_HTTP_RETURNED_ERROR:
            .malformed
        // An answer without a head (HTTP/0.9) has the same code as an unsupported scheme; one with a field longer than
        // 100 KiB (lib/http.h, CURL_MAX_HTTP_HEADER), as too little memory, or 100 ("A value or data field grew larger
        // than allowed": the name is newer than the library here).
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_OUT_OF_MEMORY, CURLcode(100):
            hasSent ? .malformed : .request
        default:
            .request
        }
    }

    /// Whether the network, not the peer's TLS, ended the handshake.
    ///
    /// libcurl has one code for both. A refusing peer sends an alert or a version, which OpenSSL reports as an `error:`
    /// with a reason; a connection that ends gives no reason.
    private static func isCutHandshake(_ message: String) -> Bool {
        if message.contains("unexpected eof") { return true }
        return message.contains("SSL_ERROR_SYSCALL") || message.contains("onnection reset")
            || message.contains("Broken pipe") || message.contains("onnection timed out")
    }

    static func failure(
        of code: CURLcode, hasSent: Bool, message: String, url: String
    ) -> TransferFailure {
        var text = message
        while text.last?.isWhitespace == true { text.removeLast() }
        if code == CURLE_OUT_OF_MEMORY, hasSent {
            text = "a field in the head of the answer is longer than 100 KiB, or memory is short"
        }
        // A line of a trailer longer than 4 KiB (lib/http_chunks.c, DYN_H1_TRAILER): the next answer has it, too.
        let isLongTrailer = text.hasPrefix("Out of memory in chunked-encoding")
        if isLongTrailer {
            text = "a field after the chunks of the answer is longer than 4 KiB, or memory is short"
        }
        // Only the decoders end this way: a refusal by the client has a verdict of its own.
        if code == CURLE_WRITE_ERROR {
            text =
                "more bytes follow the end of the answer's compressed body (Content-Encoding): what compresses it, at the "
                + "server or in a proxy before it, does so wrongly"
        }
        if let wrong = wrongScheme(code, text, url) { text = wrong }
        if isUnknownAuthority(code, text) {
            text += "; if it is to be trusted, --cacert FILE names it, or its authority's"
        }
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        return TransferFailure(
            isLongTrailer ? .malformed : kind(of: code, hasSent: hasSent, message: text),
            sentence(text, url: url))
    }

    /// Advice if the port speaks the other of http and https; nil if nothing shows that.
    private static func wrongScheme(_ code: CURLcode, _ message: String, _ url: String) -> String? {
        // OpenSSL's words for data other than TLS (SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG).
        let noTLS = ["wrong version number", "packet length too long", "http request"]
        if url.hasPrefix("https:"), code == CURLE_SSL_CONNECT_ERROR,
            noTLS.contains(where: message.contains)
        {
            return "the server does not speak TLS on that port; is it http, not https?"
        }
        // libcurl takes a TLS alert for HTTP/0.9.
        if url.hasPrefix("http:"), code == CURLE_UNSUPPORTED_PROTOCOL, message.contains("HTTP/0.9")
        {
            return "the server does not speak http on that port; is it https, not http?"
        }
        return nil
    }

    /// Whether a certificate is refused only because its signer is not trusted.
    private static func isUnknownAuthority(_ code: CURLcode, _ message: String) -> Bool {
        // OpenSSL's words (X509_verify_cert_error_string); older ones write "self signed".
        let words = ["self-signed", "self signed", "local issuer", "issuer certificate"]
        return code == CURLE_PEER_FAILED_VERIFICATION && words.contains(where: message.contains)
    }

    static func sentence(_ text: String, url: String) -> String {
        "\(text): \(URLParts.shown(url))"
    }
}
