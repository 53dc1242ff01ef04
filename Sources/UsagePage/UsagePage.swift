package import CASStore
import StrictJSON
package import VersionTree

/// The page that shows disk usage: one file that loads nothing.
///
/// Its markup, style and script are in `Page/`, as people write them; the figures are a JSON document inside it. The
/// page's own policy lets no other script run and no request leave.
package enum UsagePage {
    /// Makes the whole page of a survey.
    /// - Parameters:
    ///   - survey: with a map, else the page has no files to show.
    ///   - isLive: whether the page is served. Then it also shows the current state, for which it requests
    ///     `status.json` and `usage.json` beside itself.
    /// - Throws: what the digest of its policy throws; never for what the survey holds.
    package static func html(
        _ survey: UsageSurvey, isLive: Bool = false
    ) throws(StoreError) -> [UInt8] {
        let policy = try policy(isLive: isLive)
        var page: [UInt8] = []
        for piece in try Template(text: PackageResources.page_html).pieces() {
            switch piece {
            case .text(let text): page += text
            case .place("policy"): page += Array(policy.utf8)
            case .place("style"): page += style
            case .place("live"): page += isLive ? PackageResources.live_html : []
            case .place("script"): page += script(isLive: isLive)
            case .place("usage"): page += inert(json(survey))
            case .place(let name):
                throw StoreError(.io, "the page has no text for the place \(name)")
            }
        }
        return page
    }

    /// The figures as the page reads them: those of `castree du --json`, the lifecycle and the map.
    ///
    /// A served page passes a newer document of this form to its window's `castreeUsage.show`.
    package static func json(_ survey: UsageSurvey) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        survey.writeMembers(to: &writer)
        survey.writeLifecycle(to: &writer)
        (survey.map ?? UsageMap()).write(to: &writer)
        writer.endObject()
        return writer.drain()
    }

    /// The policy that the page carries, for a server that sends it as a field: nothing is loaded, and the page's own
    /// style and script are identified by their digests (CSP 3, section 6.7.2.3).
    /// - Parameter isLive: whether the page may request newer figures from its own server.
    package static func policy(isLive: Bool = false) throws(StoreError) -> String {
        // The script sets widths and colours of bars as properties, so no style attribute is needed.
        "default-src 'none'; script-src 'sha256-\(try digest(script(isLive: isLive)))'; "
            + "style-src 'sha256-\(try digest(style))'; connect-src \(isLive ? "'self'" : "'none'"); "
            + "base-uri 'none'; form-action 'none'"
    }

    static let style = PackageResources.page_css

    /// The scripts as one, in the order in which they build on each other.
    static func script(isLive: Bool) -> [UInt8] {
        let parts = [
            PackageResources.model_js, PackageResources.layout_js, PackageResources.map_js,
            PackageResources.growth_js, PackageResources.sharing_js, PackageResources.tables_js,
            PackageResources.page_js, isLive ? PackageResources.live_js : [],
        ]
        return Array("(() => {\n'use strict';\n".utf8) + parts.joined() + Array("})();\n".utf8)
    }

    /// JSON without markup: `<`, `>` and `&` occur in strings only, where they become escapes.
    static func inert(_ json: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(json.count + json.count / 16)
        for byte in json {
            switch byte {
            case 38: result += Array("\\u0026".utf8)
            case 60: result += Array("\\u003c".utf8)
            case 62: result += Array("\\u003e".utf8)
            default: result.append(byte)
            }
        }
        return result
    }

    private static func digest(_ bytes: [UInt8]) throws(StoreError) -> String {
        Base64.string(try Digester.digest(.sha256, of: bytes))
    }
}

/// A text with placeholders: `{{name}}`.
struct Template {
    enum Piece: Equatable {
        case text([UInt8])
        case place(String)
    }

    let text: [UInt8]

    func pieces() throws(StoreError) -> [Piece] {
        var result: [Piece] = []
        var rest = text[...]
        while let start = Self.find(123, in: rest) {
            result.append(.text(Array(rest[..<start])))
            rest = rest[(start + 2)...]
            guard let end = Self.find(125, in: rest) else {
                throw StoreError(.io, "the page has a place without an end")
            }
            result.append(.place(String(decoding: rest[..<end], as: UTF8.self)))
            rest = rest[(end + 2)...]
        }
        result.append(.text(Array(rest)))
        return result
    }

    /// Where a byte occurs twice in a row.
    private static func find(_ byte: UInt8, in text: ArraySlice<UInt8>) -> Int? {
        text.indices.dropLast().first { text[$0] == byte && text[$0 + 1] == byte }
    }
}
