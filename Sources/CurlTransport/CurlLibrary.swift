import CASStore
import CCurl
import CLibraries
import HotPush

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
