import Platform

extension Responder {
    /// The address of what a request shows, without content coding; `nil` for nothing.
    func shown(_ request: borrowing RequestHead) -> ObjectID? {
        if let address = site.address(of: request.bytes[request.path]) { return address }
        guard let key = site.index, getsIndex(request) else { return nil }
        return site.resources[Int(site.destinations[key].resource)].address
    }

    func getsIndex(_ request: borrowing RequestHead) -> Bool {
        let path = request.bytes[request.path]
        switch site.options.fallback {
        case .none: return false
        case .navigations:
            // Routes of an app may end like a file: /package/chart.js, /search/192.168.1.0.
            return request.load != .subresource
                && (request.isForDocument || !Self.isAsset(path))
        case .meteor:
            if path.elementsEqual("/favicon.ico".utf8) { return false }
            if path.starts(with: "/local-filesystem".utf8) { return false }
            return !Self.declinesIndex(request)
        }
    }

    /// Whether a missing file of this name is missing to a page, not a person: a script, a style, an image, a hashed
    /// name.
    static func isAsset(_ path: ArraySlice<UInt8>) -> Bool {
        if let type = MediaType.known(path) { return type.use == .asset }
        return HashedName.matches(path)
    }

    /// Whether the query has one of the parameters with which Meteor's clients ask for 404 instead.
    static func declinesIndex(_ request: borrowing RequestHead) -> Bool {
        guard let query = request.query else { return false }
        for parameter in request.bytes[query].split(separator: 38) {
            let name = parameter.prefix { $0 != 61 }
            if name.isWord("meteor_dont_serve_index") || name.isWord("meteor_js_resource")
                || name.isWord("meteor_css_resource")
            {
                return true
            }
        }
        return false
    }
}
