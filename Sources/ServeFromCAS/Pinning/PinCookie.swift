import VersionTree

/// What the pins' cookie holds: `<browser>.<version>:<run>`, with more where more pages are open.
///
/// In whole: `<browser>[-<mark>].<version>[:<run>[:<other>…]]`. It is all that a server knows of the
/// pages that an earlier run of it has served.
struct PinCookie: Sendable, Hashable {
    /// Tells one browser profile from another: 16 to 64 letters and digits, random.
    var browser: String
    /// The version of the newest page it was given.
    var version: VersionName
    /// The mark of that version's pages there.
    var mark: PageMark?
    /// Which run of the server set it: up to 16 letters and digits; `nil` for one that did not say.
    var run: String?
    /// The versions of the other pages that were open then, the newest page's first.
    ///
    /// Its own version is among them if another page has that, too.
    var others: [VersionName] = []

    /// How many others are remembered: a cookie has 4,096 bytes at most.
    static let othersMax = 8
    private static let runByteCountMax = 16
}

extension PinCookie {
    /// Reads a cookie's value; `nil` if it is not one of ours.
    init?(_ value: ArraySlice<UInt8>) {
        guard let dot = value.firstIndex(of: 46) else { return nil }
        var browser = value[..<dot]
        if let dash = browser.lastIndex(of: 45) {
            guard browser.distance(from: dash, to: dot) == 2,
                let mark = PageMark.all.first(where: { $0.hints + 48 == browser[dash + 1] })
            else { return nil }
            self.mark = mark
            browser = browser[..<dash]
        }
        guard browser.count >= 16, browser.count <= 64,
            browser.allSatisfy({ $0 != 46 && CookieText.isPlain($0) })
        else { return nil }
        self.browser = String(decoding: browser, as: UTF8.self)
        let rest = value[(dot + 1)...]
        // Of nearly every request: nothing is allocated but the names.
        var end = Self.end(of: rest, from: rest.startIndex)
        guard let version = Self.version(rest[..<end]) else { return nil }
        self.version = version
        guard end < rest.endIndex else { return }
        let start = end + 1
        end = Self.end(of: rest, from: start)
        let run = rest[start..<end]
        guard !run.isEmpty, run.count <= Self.runByteCountMax, run.allSatisfy(CookieText.isPlain)
        else { return nil }
        self.run = String(decoding: run, as: UTF8.self)
        while end < rest.endIndex {
            let start = end + 1
            end = Self.end(of: rest, from: start)
            guard others.count < Self.othersMax, let other = Self.version(rest[start..<end]) else {
                return nil
            }
            others.append(other)
        }
    }

    /// Where the part that begins at `start` ends: at a colon, or with the value.
    private static func end(of value: ArraySlice<UInt8>, from start: Int) -> Int {
        value[start...].firstIndex(of: 58) ?? value.endIndex
    }

    private static func version(_ name: ArraySlice<UInt8>) -> VersionName? {
        // A name that is none was not set by us.
        try? VersionName(String(decoding: name, as: UTF8.self))
    }

    /// The value of Set-Cookie.
    ///
    /// It lasts as long as the browser runs: after that there are no pages. It is sent with links of
    /// other sites, too (Lax): a Strict one would be missing there, and the new browser that the server
    /// would see would take the place of the one whose pages are open. It opens nothing.
    func setCookie(_ name: String, isSecure: Bool = false) -> String {
        let suffix = mark.map { "-\($0.hints)" } ?? ""
        var value = "\(browser)\(suffix).\(version)"
        if let run { value += ":\(run)" + others.map { ":\($0)" }.joined() }
        return "\(name)=\(value); Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    }
}
