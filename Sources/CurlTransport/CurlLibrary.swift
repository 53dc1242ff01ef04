import CASStore
import CCurl
import CLibraries
import HotPush

/// libcurl, which is loaded and started when the first request is to be carried.
enum CurlLibrary {
    /// Why it is of no use; `nil` if it is.
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

    /// - Throws: `.transport` if it is not installed, or does not start.
    fileprivate static func start() throws(StoreError) {
        if let problem { throw StoreError(.transport, problem) }
    }
}

extension TransportOptions {
    /// Starts libcurl for them unless this process has already started it.
    func start() throws(StoreError) {
        try CurlLibrary.start()
        guard RequestFields.isFieldValue(userAgent) else {
            throw StoreError(.transport, "unable to use a user agent that contains a line end")
        }
    }
}
