import CASStore
import S3
import Storage

/// The one spelling of an origin's URL by which trust knows it.
///
/// URLs that lead to one directory get one name, as far as curl and servers are known to treat them alike: by RFC
/// 3986, section 6.2.2, and beyond it for numeric IPv4 addresses as inet_aton(3) reads them, and for escaped or
/// doubled slashes, which servers read as one.
enum WebPlace {
    /// - Parameter url: an absolute `http` or `https` URL.
    static func name(of url: String) -> String {
        let (scheme, rest) = OriginReference.split(url)
        let authority = rest.dropFirst(2).prefix { $0 != "/" }
        let path = rest.dropFirst(2 + authority.count)
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return "\((scheme ?? "").lowercased())://\(host(place))\(Self.path(path))"
    }

    // MARK: The host

    private static func host(_ place: Substring) -> String {
        var name = place
        var port: Substring = ""
        // The colons of an IPv6 address are in brackets (RFC 3986, section 3.2.2).
        if let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") {
            name = place[..<colon]
            port = place[place.index(after: colon)...]
        }
        // http and https are one place, so both default ports are none.
        let number = port.drop { $0 == "0" }
        let end = port.isEmpty || ["80", "443"].contains(number) ? "" : ":\(number)"
        if name.hasPrefix("["), name.hasSuffix("]") {
            return address(String(name.dropFirst().dropLast())) + end
        }
        var host = String(decoding: decoded(name), as: UTF8.self).lowercased()
        while host.hasSuffix(".") { host.removeLast() }
        return (numericAddress(host) ?? host) + end
    }

    /// An IPv6 address in brackets, or the IPv4 address that it maps (RFC 4291, section 2.5.5.2).
    private static func address(_ text: String) -> String {
        let parts = text.lowercased().split(
            separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        // In a URL the % is escaped (RFC 6874); curl also accepts a plain one.
        var zone = parts.count > 1 ? "%" + parts[1] : ""
        if zone.hasPrefix("%25"), zone.count > 3 { zone = "%" + zone.dropFirst(3) }
        guard let groups = groups(parts[0]) else { return "[\(text.lowercased())]" }
        if groups.prefix(5).allSatisfy({ $0 == 0 }), groups[5] == 0xffff {
            return dotted(UInt32(groups[6]) << 16 | UInt32(groups[7]))
        }
        let digits = groups.map { String($0, radix: 16) }.joined(separator: ":")
        return "[\(digits)\(zone)]"
    }

    /// The eight groups of an IPv6 address (RFC 4291, section 2.2).
    private static func groups(_ text: Substring) -> [UInt16]? {
        var halves: [[UInt16]] = []
        var rest = text
        while let gap = rest.firstRange(of: "::") {
            guard let before = groupList(rest[..<gap.lowerBound]) else { return nil }
            halves.append(before)
            rest = rest[gap.upperBound...]
        }
        guard let last = groupList(rest) else { return nil }
        halves.append(last)
        let count = halves.reduce(0) { $0 + $1.count }
        switch halves.count {
        case 1: return count == 8 ? halves[0] : nil
        case 2 where count < 8:
            return halves[0] + [UInt16](repeating: 0, count: 8 - count) + halves[1]
        default: return nil
        }
    }

    private static func groupList(_ text: Substring) -> [UInt16]? {
        if text.isEmpty { return [] }
        var groups: [UInt16] = []
        for part in text.split(separator: ":", omittingEmptySubsequences: false) {
            if part.contains("."), let number = number(String(part)) {
                groups += [UInt16(number >> 16), UInt16(truncatingIfNeeded: number)]
            } else if let group = UInt16(part, radix: 16) {
                groups.append(group)
            } else {
                return nil
            }
        }
        return groups
    }

    private static func numericAddress(_ host: String) -> String? { number(host).map(dotted) }

    /// An IPv4 address as inet_aton(3) reads it: one to four numbers in base 10, 16 or 8; the last fills the rest.
    private static func number(_ text: String) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard 1...4 ~= parts.count else { return nil }
        var address: UInt64 = 0
        for (position, part) in parts.enumerated() {
            let value: UInt64?
            if part.hasPrefix("0x") {
                value = UInt64(part.dropFirst(2), radix: 16)
            } else {
                value = UInt64(part, radix: part.hasPrefix("0") ? 8 : 10)
            }
            let isLast = position == parts.count - 1
            let bits: UInt64 = isLast ? UInt64(8 * (5 - parts.count)) : 8
            guard let value, value < 1 << bits else { return nil }
            address = address << bits | value
        }
        return UInt32(address)
    }

    private static func dotted(_ number: UInt32) -> String {
        [24, 16, 8, 0].map { String(number >> $0 & 0xff) }.joined(separator: ".")
    }

    // MARK: The path

    private static func path(_ text: Substring) -> String {
        let parts = withoutDots(decoded(text).split(separator: 47), [46], [46, 46])
        return parts.map { "/" + PercentEncoding.path(of: Array($0)) }.joined()
    }

    /// The decoded bytes; a `%` that begins no escape stays.
    private static func decoded(_ text: Substring) -> [UInt8] {
        var result: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let escaped = PercentEncoding.decoded([byte] + rest.prefix(2))
            {
                result += escaped
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// The parts of a path without those for the directory itself or the one above (RFC 3986, section 5.2.4).
    static func withoutDots<Part: Equatable>(
        _ parts: [Part], _ here: Part, _ above: Part
    ) -> [Part] {
        var result: [Part] = []
        for part in parts where part != here {
            if part == above { _ = result.popLast() } else { result.append(part) }
        }
        return result
    }
}

extension OriginLocation {
    /// The place as `trust.json` names it: the first of ``trustPlaces``, without a look at the place, which may hang.
    package var trustPlace: String {
        guard case .directory(let path) = self else { return trustPlaces[0] }
        return Self.name(Self.absolute(path, POSIXFileSystem()).split(separator: "/"))
    }

    /// All names of the place: trust in any of them applies here.
    ///
    /// It is safer for two places to share a name than for one place to have two: a release is then refused without
    /// need rather than accepted without trust. So neither user, default port nor endpoint counts. A directory has
    /// the name that was given, so that a link put in its place does not evade the trust, the target of each link on
    /// the way, and the name without links.
    package var trustPlaces: [String] {
        switch self {
        case .bucket(let bucket): return [bucket.description]
        case .web(let base): return [WebPlace.name(of: base)]
        case .directory(let path): return Self.names(of: path)
        }
    }

    private static func names(of path: String) -> [String] {
        let fileSystem = POSIXFileSystem()
        let here = POSIXFileSystem.workingDirectory
        var names: [String] = []
        func note(_ parts: [Substring]) {
            let name = name(parts)
            if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) }
        }
        var rest = absolute(path, fileSystem).split(separator: "/")[...]
        var walked: [Substring] = []
        var linkCount = 0
        note(Array(rest))
        while let part = rest.popFirst() {
            if part == ".." { _ = walked.popLast() }
            if part == "." || part == ".." { continue }
            walked.append(part)
            // Nobody follows more links than these (path_resolution(7)).
            guard linkCount < 40 else { continue }
            let path = "/" + walked.joined(separator: "/")
            // A path that does not exist or cannot be examined leads nowhere.
            guard let target = try? fileSystem.symbolicLink(here, path) else { continue }
            linkCount += 1
            if target.hasPrefix("/") { walked = [] } else { walked.removeLast() }
            rest = (target.split(separator: "/") + rest)[...]
            note(walked + rest)
        }
        note(walked)
        return names
    }

    private static func name(_ parts: [Substring]) -> String {
        "/" + WebPlace.withoutDots(parts, ".", "..").joined(separator: "/")
    }

    private static func absolute(_ path: String, _ fileSystem: POSIXFileSystem) -> String {
        if path.hasPrefix("/") { return path }
        // If the system does not tell (proc(5)), one name in each directory must do.
        let above = try? fileSystem.symbolicLink(POSIXFileSystem.workingDirectory, "/proc/self/cwd")
        return (above ?? "") + "/" + path
    }
}
