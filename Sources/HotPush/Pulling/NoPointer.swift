import CASStore
import VersionTree

/// What came in place of a channel's pointer: the status, and the type of a page.
struct NoPointer: Error {
    let status: Int
    let page: String?
}

// The error if nothing describes a release: the wrong place, or the wrong channel.

extension OriginInquiry {
    func noChannel(
        _ channel: ChannelName, at origin: OriginLocation, _ answer: NoPointer
    ) throws(StoreError) -> StoreError {
        if answer.status == 403 {
            if let refusal = access.refusal { return refusal }
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(channel)\" be read (it answered "
                    + "403): it is private, or has no such channel")
        }
        if let error = try wrongPlace(origin, channel.description) { return error }
        if let page = answer.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "\(origin.description) has no channel \"\(channel)\" (it answered \(answer.status)); "
                + "castree publish creates one")
    }

    /// - Parameter answer: nil if no channel was asked for.
    func noRelease(
        at origin: OriginLocation, _ answer: NoPointer?
    ) throws(StoreError) -> StoreError {
        // Storage that may not be listed answers 403 for missing files too.
        if answer?.status == 403 {
            return StoreError(
                .notFound,
                "\(origin.description) does not let its channel \"\(printable(options.channel))\" be "
                    + "read (it answered 403): it is private, or describes no release; check the URL, "
                    + "and who may read it")
        }
        if answer != nil, let error = try wrongPlace(origin, options.channel) { return error }
        if let page = answer?.page { return self.page(page, insteadOf: origin) }
        return StoreError(
            .notFound,
            "nothing at \(origin.description) describes a release: neither a channel "
                + "\"\(printable(options.channel))\" (castree publish) nor a Meteor server's "
                + "__cordova/manifest.json; \(origin.advice)")
    }

    /// The error for a page in place of a channel's pointer: perhaps a captive portal, so a retry may help.
    func page(_ type: String, insteadOf origin: OriginLocation) -> StoreError {
        StoreError(
            .network,
            "\(origin.description) answered with a page (\(type)): a login or captive portal? If this network has "
                + "none, check the URL: no origin is there",
            cause: .transfer(kind: TransferFailure.Kind.broken.rawValue))
    }

    /// Advice on a 400: a TLS port answers a plain http request so.
    func adviceOnScheme(_ status: Int, _ origin: OriginLocation) -> String {
        guard status == 400, case .web(let url) = origin, url.hasPrefix("http:") else { return "" }
        return " (is that port https, not http?)"
    }

    /// The error for a directory that does not exist, or an origin with other channels; nil if neither is certain.
    private func wrongPlace(
        _ origin: OriginLocation, _ channel: String
    ) throws(StoreError) -> StoreError? {
        if case .directory(let path) = origin,
            try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path) == nil
        {
            return StoreError(
                .notFound, "there is no directory \(printable(path)); \(origin.advice)")
        }
        // The error to report is the missing release; the names would only make it clearer.
        let known = try unlessInterrupted { () throws(StoreError) in
            try access.channelNames(at: origin)
        }
        let names = (known ?? []).map(\.description).filter { $0 != channel }
        guard !names.isEmpty else { return nil }
        let few = names.prefix(Self.namedCountMax).joined(separator: ", ")
        return StoreError(
            .notFound,
            "the origin \(origin.description) has no channel \"\(printable(channel))\"; it has "
                + few + (names.count > Self.namedCountMax ? " and others" : ""))
    }

    private static let namedCountMax = 8
}
