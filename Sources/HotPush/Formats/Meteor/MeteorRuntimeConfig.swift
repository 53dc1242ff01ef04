package import CASStore
import StrictJSON

/// What Meteor's index page tells the app: `__meteor_runtime_config__`.
package struct MeteorRuntimeConfig: Sendable, Hashable {
    package var appID: String?
    package var rootURL: String?
    /// The versions of the Cordova program that the page names: `autoupdateVersionCordova` up to Meteor 1.7,
    /// `autoupdate.versions["web.cordova"].version` since.
    package var versions: [String] = []

    /// Throws `.badRelease` if the page has no configuration, or it is not a JSON object.
    package init(indexPage: [UInt8]) throws(StoreError) {
        guard let encoded = Self.find(in: indexPage) else {
            throw Self.refuse("the page has no \(Self.beginning)…")
        }
        guard let text = PercentEncoding.decoded(encoded) else {
            throw Self.refuse("its percent-encoding is broken")
        }
        try self.init(json: text)
    }

    /// Throws `.badRelease` if the text is not a JSON object.
    package init(json: [UInt8]) throws(StoreError) {
        let value: JSONValue
        do throws(JSONError) {
            var reader = try JSONReader(json, limits: JSONLimits(byteCount: Self.byteCountMax))
            var left = Self.valueCountMax
            value = try reader.readValue(valuesLeft: &left)
            try reader.finish()
        } catch {
            throw Self.refuse(error.message)
        }
        guard value.asObject != nil else { throw Self.refuse("it is no JSON object") }
        appID = value["appId"]?.asString
        rootURL = value["ROOT_URL"]?.asString
        let old = value["autoupdateVersionCordova"]
        let new = value["autoupdate"]?["versions"]?["web.cordova"]?["version"]
        for version in [old, new] {
            guard let version, !version.isNull else { continue }
            guard let text = version.asString else {
                throw Self.refuse("the version in it is no text")
            }
            versions.append(text)
        }
    }

    /// A configuration holds an app's public settings.
    private static let byteCountMax = 4 << 20
    /// A tree of short values takes twenty times the memory of its text.
    private static let valueCountMax = 1 << 16

    private static let beginning = "__meteor_runtime_config__ = JSON.parse(decodeURIComponent("

    /// The text between the quotes, at the first place where both ends match.
    private static func find(in page: [UInt8]) -> ArraySlice<UInt8>? {
        let opening = Array((beginning + "\"").utf8)
        let closing = Array("\"))".utf8)
        var start = 0
        while start + opening.count <= page.count {
            guard let first = page[start...].firstIndex(of: opening[0]) else { return nil }
            start = first + 1
            guard page[first...].starts(with: opening) else { continue }
            let text = page[(first + opening.count)...].prefix { $0 != 34 }
            if page[text.endIndex...].starts(with: closing) { return text }
        }
        return nil
    }

    private static func refuse(_ problem: String) -> StoreError {
        StoreError(.badRelease, "\(MeteorMessages.noRuntimeConfiguration): \(problem)")
    }
}
