internal import CCurl

/// Which libcurl carries the requests, for bug reports.
public func curlVersion() -> String { String(cString: curl_version()) }
