import VersionTree

/// The content of the pins' cookie under its seal (``PageSeal``): `<browser>.<version>:<run>`, and more if more pages
/// are open.
///
/// In full: `[<tag>~]<browser>[-<marks>[w][l<minutes>]].<version>[:<run>[:<other>…]]`. The marks are a digit for the
/// version and for each other one, 0 for none, then their second marks and so on, without zeros at the end; `w` if the
/// cookie lasts; `l` with ``ledMinutes``. The tag identifies the version's content, in case its name is given to other
/// content. This is all that a server knows about pages that an earlier run of it served.
struct PinCookie: Sendable, Hashable {
    /// Distinguishes browser profiles: 16 to 64 letters and digits, random.
    var browser: String
    /// The version of the newest page that the browser was given.
    var version: VersionName
    /// Which run of the server set it: up to 16 letters and digits; `nil` if the cookie does not say.
    var run: String?
    /// The versions of the other pages open then, the newest page's first, perhaps with its own version again.
    var others: [VersionName] = []
    /// Whether the browser was given a worker, which may show pages in its next run, so the cookie must last.
    var isLasting = false
    var marks: [PageMark: VersionName] = [:]
    /// For how many minutes another origin may be behind what its pages do; 0 if none may.
    ///
    /// It says nothing of pages, and every look at it differs: equal cookies may differ here.
    var ledMinutes: Int64 = 0

    /// A cookie has 4,096 bytes at most.
    static let othersMax = 8
    /// How many seconds a cookie is believed whatever else is open: a day, in which pages are loaded again.
    static let ageMax: UInt64 = 86_400
    /// How many seconds a browser keeps a lasting one: browsers allow 400 days (RFC 6265bis, section 5.5).
    private static let lastingMax = 34_560_000
    private static let runByteCountMax = 16
    static let tagByteCount = 8
    private static let foreignPrefix = "frame"

    /// The name of a browser as it is in frames of another site's pages, where it sends only cookies of their own.
    static func foreign(_ browser: String) -> String { foreignPrefix + browser }

    /// Whether it is a browser's for frames of another site's pages.
    var isForeign: Bool { Self.isForeign(browser) }

    static func isForeign(_ browser: String) -> Bool { browser.hasPrefix(foreignPrefix) }
}

extension PinCookie {
    static func == (left: PinCookie, right: PinCookie) -> Bool {
        left.browser == right.browser && left.version == right.version && left.run == right.run
            && left.others == right.others && left.isLasting == right.isLasting
            && left.marks == right.marks
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(browser)
        hasher.combine(version)
    }

    init?(_ value: ArraySlice<UInt8>) {
        guard let dot = value.firstIndex(of: 46) else { return nil }
        var (browser, marks) = (value[..<dot], value[dot..<dot])
        if let dash = browser.lastIndex(of: 45) {
            marks = browser[(dash + 1)...]
            guard !marks.isEmpty else { return nil }
            if let led = marks.lastIndex(of: 108) {
                let minutes = Int64(String(decoding: marks[(led + 1)...], as: UTF8.self))
                guard let minutes, (1...PinTable.ledMinutesMax).contains(minutes) else {
                    return nil
                }
                ledMinutes = minutes
                marks = marks[..<led]
            }
            isLasting = marks.last == 119
            if isLasting { marks.removeLast() }
            guard marks.allSatisfy({ (48...54).contains($0) }) else { return nil }
            browser = browser[..<dash]
        }
        guard browser.count >= 16, browser.count <= 64,
            browser.allSatisfy({ $0 != 46 && CookieText.isPlain($0) })
        else { return nil }
        self.browser = String(decoding: browser, as: UTF8.self)
        let rest = value[(dot + 1)...]
        // Nearly every request has it: only the names are allocated.
        var end = Self.end(of: rest, from: rest.startIndex)
        guard let version = Self.version(rest[..<end]) else { return nil }
        self.version = version
        if end < rest.endIndex {
            let start = end + 1
            end = Self.end(of: rest, from: start)
            let run = rest[start..<end]
            let isPlain = run.allSatisfy(CookieText.isPlain)
            guard !run.isEmpty, run.count <= Self.runByteCountMax, isPlain else { return nil }
            self.run = String(decoding: run, as: UTF8.self)
        }
        while end < rest.endIndex {
            let start = end + 1
            end = Self.end(of: rest, from: start)
            guard others.count < Self.othersMax, let other = Self.version(rest[start..<end]) else {
                return nil
            }
            others.append(other)
        }
        guard !marks.isEmpty else { return }
        let versions = versions
        guard marks.count <= versions.count * PageMark.all.count else { return nil }
        for (place, digit) in marks.enumerated() {
            let mark = PageMark(digit: digit)
            if let mark { self.marks[mark] = versions[place % versions.count] }
        }
    }

    /// The versions that it names: without a run, no others.
    private var versions: [VersionName] { run == nil ? [version] : [version] + others }

    func names(_ mark: PageMark) -> Bool { marks[mark] != nil }

    /// Whether the marks of some pages that were open may be missing.
    var lacksMarks: Bool {
        others.count == Self.othersMax
            || others.contains { $0 != version && !marks.values.contains($0) }
    }

    /// Adds the marks of a browser's pages, as far as they are of the cookie's versions.
    mutating func note(_ given: [(mark: PageMark, version: VersionName)]) {
        marks = [:]
        for (mark, version) in given where versions.contains(version) { marks[mark] = version }
    }

    /// The digits of its marks: the first ones of its versions, each where it is named first, then the second ones.
    private var digits: String {
        var digits = ""
        for number in PageMark.all.indices where !marks.isEmpty {
            for (place, name) in versions.enumerated() {
                let own = PageMark.all.filter { marks[$0] == name }
                let isThere = number < own.count && versions.firstIndex(of: name) == place
                digits += isThere ? "\(own[number].hints)" : "0"
            }
        }
        while digits.last == "0" { digits.removeLast() }
        return digits
    }

    /// Where the part that begins at `start` ends: at a colon, or at the end of the value.
    private static func end(of value: ArraySlice<UInt8>, from start: Int) -> Int {
        value[start...].firstIndex(of: 58) ?? value.endIndex
    }

    private static func version(_ name: ArraySlice<UInt8>) -> VersionName? {
        // We did not set a name that is not valid.
        try? VersionName(String(decoding: name, as: UTF8.self))
    }

    /// The value of Set-Cookie.
    ///
    /// It lasts as long as the browser runs: after that there are no pages, except those that a worker keeps. Links
    /// on other sites send it too (Lax). A Strict cookie would be missing there, and the server would see a new
    /// browser, which would replace the one whose pages are open. In frames of another site's pages browsers send only
    /// `None`, and most keep it only `Secure`, and `Partitioned`: for that site. The cookie gives no access.
    func setCookie(
        _ name: String, _ seal: PageSeal, tag: String? = nil, isSecure: Bool = false
    ) -> String {
        let digits = digits
        let marks = digits + (isLasting ? "w" : "") + (ledMinutes > 0 ? "l\(ledMinutes)" : "")
        let suffix = marks.isEmpty ? "" : "-" + marks
        var value = (tag.map { $0 + "~" } ?? "") + "\(browser)\(suffix).\(version)"
        if let run { value += ":\(run)" + others.map { ":\($0)" }.joined() }
        return "\(name)=\(seal.sealed(value)); Path=/; HttpOnly"
            + (isForeign ? "; SameSite=None; Partitioned" : "; SameSite=Lax")
            + (isSecure || isForeign ? "; Secure" : "")
            + (isLasting ? "; Max-Age=\(Self.lastingMax)" : "")
    }
}
