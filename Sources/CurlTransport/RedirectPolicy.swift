internal import HotPush

/// Decides which redirects to follow (RFC 9110, section 15.4).
struct RedirectPolicy {
    let countMax: Int

    /// Excludes 300, which offers a choice, and 304, which answers a condition: both are for the client.
    static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// - Parameter visited: the URLs of this transfer so far, ending with the one that answered last.
    /// - Throws: why the redirect is not followed.
    func next(
        _ location: String, after visited: [String]
    ) throws(TransferFailure) -> URLParts {
        let from = visited.last ?? ""
        func refusal(_ text: String) -> TransferFailure {
            let sentence = FailureKinds.sentence(text, url: from)
            return TransferFailure(.redirect, "\(sentence) (to \(URLParts.shown(location)))")
        }
        guard let target = URLParts(location, relativeTo: from), let source = URLParts(from) else {
            throw refusal("the server redirects to something that is not a URL")
        }
        guard target.scheme == "https" || target.scheme == "http" else {
            throw refusal("the server redirects to a scheme other than http or https")
        }
        if source.scheme == "https", target.scheme == "http" {
            throw refusal("the server redirects from https to http")
        }
        if visited.contains(where: { URLParts($0)?.text == target.text }) {
            throw refusal("the server redirects in a circle")
        }
        guard visited.count <= countMax else {
            throw refusal("the server redirects more than \(countMax) times")
        }
        return target
    }
}
