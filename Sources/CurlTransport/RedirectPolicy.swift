internal import HotPush

/// Decides which redirects to follow (RFC 9110, section 15.4).
struct RedirectPolicy {
    /// The most redirects in a row.
    let countMax: Int

    /// Whether a response with that status redirects if it has a `Location`.
    ///
    /// 300 offers a choice and 304 answers a condition; both are for the client to handle.
    static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// Where to go from the last of `visited`.
    ///
    /// - Parameter visited: the URLs of this transfer so far, ending with the one that answered last.
    /// - Returns: the next URL, or why the redirect is not followed.
    func next(
        _ location: String, after visited: [String]
    ) -> Result<URLParts, RedirectRefusal> {
        let from = visited.last ?? ""
        guard let target = URLParts(location, relativeTo: from), let source = URLParts(from) else {
            return refusal("the server redirects to something that is not a URL", from, location)
        }
        guard target.scheme == "https" || target.scheme == "http" else {
            return refusal(
                "the server redirects to a scheme other than http or https", from, location)
        }
        if source.scheme == "https", target.scheme == "http" {
            return refusal("the server redirects from https to http", from, location)
        }
        if visited.contains(where: { URLParts($0)?.text == target.text }) {
            return refusal("the server redirects in a circle", from, location)
        }
        guard visited.count <= countMax else {
            return refusal("the server redirects more than \(countMax) times", from, location)
        }
        return .success(target)
    }

    private func refusal(
        _ text: String, _ from: String, _ location: String
    ) -> Result<URLParts, RedirectRefusal> {
        let sentence = FailureKinds.sentence(text, url: from)
        return .failure(
            RedirectRefusal(
                failure: TransferFailure(
                    .redirect, "\(sentence) (to \(URLParts.shown(location)))")))
    }
}

/// Why a redirect is not followed.
struct RedirectRefusal: Error {
    let failure: TransferFailure
}
