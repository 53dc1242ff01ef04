import CASStore
import CCurl
import CLibraries
import HotPush

/// One of libcurl's easy handles, set up once for all the requests it will carry.
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    /// Where libcurl writes its error messages.
    private let errorText: UnsafeMutablePointer<CChar>

    init() throws(StoreError) {
        guard let raw = curl_easy_init() else { throw Self.noMemory }
        self.raw = raw
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
    }

    static var noMemory: StoreError {
        StoreError(.outOfMemory, "unable to download: libcurl has no memory for another transfer")
    }

    func set(_ option: CURLoption, _ value: Int) throws(StoreError) {
        try check(castree_curl_set_long(raw, option, value), option)
    }

    func set(_ option: CURLoption, _ text: String?) throws(StoreError) {
        try check(castree_curl_set_text(raw, option, text), option)
    }

    func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer?) throws(StoreError) {
        try check(castree_curl_set_pointer(raw, option, pointer), option)
    }

    func set(_ option: CURLoption, _ function: castree_curl_sink) throws(StoreError) {
        try check(castree_curl_set_sink(raw, option, function), option)
    }

    func set(_ function: castree_curl_watch) throws(StoreError) {
        try check(castree_curl_set_watch(raw, function), CURLOPT_XFERINFOFUNCTION)
    }

    func set(_ option: CURLoption, offset: Int64) throws(StoreError) {
        try check(castree_curl_set_offset(raw, option, curl_off_t(offset)), option)
    }

    /// Sets the options that are the same for every request; `context` is passed to both functions.
    func setUp(
        _ options: TransportOptions, chunkByteCount: Int, context: UnsafeMutableRawPointer,
        onHeader: castree_curl_sink, onBody: castree_curl_sink
    ) throws(StoreError) {
        try set(CURLOPT_PRIVATE, context)
        try set(CURLOPT_HEADERDATA, context)
        try set(CURLOPT_WRITEDATA, context)
        try set(CURLOPT_HEADERFUNCTION, onHeader)
        try set(CURLOPT_WRITEFUNCTION, onBody)
        try set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText))
        // Time-outs of name look-ups must not use SIGALRM: the program's signals belong to the program.
        try set(CURLOPT_NOSIGNAL, 1)
        try check(castree_curl_set_http_only(raw), CURLOPT_PROTOCOLS)
        // RedirectPolicy follows redirects.
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        let version = options.isHTTP2Allowed ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        try set(CURLOPT_HTTP_VERSION, Int(version))
        try set(CURLOPT_BUFFERSIZE, chunkByteCount)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(
            CURLOPT_CONNECTTIMEOUT_MS,
            Int(min(max(options.connectTimeout.milliseconds, 1), 1 << 30)))
        try set(CURLOPT_USERAGENT, options.userAgent)
        if let file = options.credentials?.netrcFile { try set(CURLOPT_NETRC_FILE, file) }
        if let proxy = options.proxy { try set(CURLOPT_PROXY, proxy) }
        if let file = options.certificatesFile {
            // Replaces the system's certificates, including the directory that libcurl would search.
            try set(CURLOPT_CAINFO, file)
            try set(CURLOPT_CAPATH, nil as String?)
            try set(CURLOPT_PROXY_CAINFO, file)
            try set(CURLOPT_PROXY_CAPATH, nil as String?)
        }
    }

    func clearError() { errorText[0] = 0 }

    /// libcurl's message about the last transfer, or an empty text; without durations ("after 12 ms"), so that a
    /// repeated failure has the same words and is reported once.
    var error: String {
        var text = String(cString: errorText)
        if let start = text.firstRange(of: " after "),
            let end = text[start.upperBound...].firstRange(of: " ms"),
            text[start.upperBound..<end.lowerBound].allSatisfy(\.isNumber)
        {
            text.removeSubrange(start.lowerBound..<end.upperBound)
        }
        return text
    }

    /// Milliseconds from the start until the request could be sent; 0 while there is no connection.
    var connectedAfter: Int64 {
        var microseconds: curl_off_t = 0
        guard
            castree_curl_get_offset(raw, CURLINFO_PRETRANSFER_TIME_T, &microseconds) == CURLE_OK,
            microseconds > 0
        else { return 0 }
        return max(Int64(microseconds) / 1000, 1)
    }

    private func check(_ code: CURLcode, _ option: CURLoption) throws(StoreError) {
        guard code != CURLE_OK else { return }
        if code == CURLE_OUT_OF_MEMORY { throw Self.noMemory }
        throw StoreError(
            .transport,
            "unable to set option \(option.rawValue) of \(curlVersion()): "
                + String(cString: curl_easy_strerror(code)))
    }
}

/// libcurl, loaded and started for the first request.
enum CurlLibrary {
    /// Why libcurl is unusable; `nil` if it works.
    private static let problem: String? = {
        if let missing = castree_load_curl() {
            let said = String(cString: missing)
            return "libcurl, which carries requests, is not installed (\(said)); on Debian: "
                + "apt install libcurl4"
        }
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
            return "unable to start libcurl (\(curlVersion()))"
        }
        return nil
    }()

    /// Throws `.transport` if libcurl is not installed, or does not start.
    fileprivate static func start() throws(StoreError) {
        if let problem { throw StoreError(.transport, problem) }
    }
}

extension TransportOptions {
    func start() throws(StoreError) {
        try CurlLibrary.start()
        guard RequestFields.isFieldValue(userAgent) else {
            throw StoreError(.transport, "unable to use a user agent that contains a line end")
        }
    }
}
