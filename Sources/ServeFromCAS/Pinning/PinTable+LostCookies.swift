import VersionTree

// A browser may lose its cookie while pages are open: by a logout (Clear-Site-Data), a setting, an extension, or its
// limit for cookies. With its next page it seems to be new, and all its pages send the new cookie. Their marks still
// tell them apart, if the new browser does not reuse marks of the earlier one's pages.
//
// Which earlier browser it is, is unknown. But it last showed its cookie before the new one came.
extension PinTable {
    /// The browsers that the open pages of a browser without a cookie may come from, with the marks that they gave
    /// away.
    private func forerunners(of name: String) -> [Browser] {
        guard let since = browsers[name]?.bareSince else { return [] }
        return browsers.filter { other, browser in
            other != name && !browser.marks.isEmpty && browser.usedAt <= since
        }.map(\.value)
    }

    /// The versions of a mark from before its browser lost its cookie, if the browser itself does not know it.
    func inheritable(_ mark: PageMark, in name: String) -> [VersionName] {
        guard let browser = browsers[name], browser.bareSince != nil, !browser.hasLostMarks,
            !browser.marks.contains(where: { $0.mark == mark })
        else { return [] }
        var versions: Set<VersionName> = []
        for earlier in forerunners(of: name) {
            for known in earlier.marks where known.mark == mark { versions.insert(known.version) }
        }
        return versions.sorted()
    }

    /// The same; a single version is recorded as the browser's own.
    mutating func inherit(_ mark: PageMark, in name: String) -> [VersionName] {
        let versions = inheritable(mark, in: name)
        if versions.count == 1, let version = versions.first {
            browsers[name]?.marks.insert((mark, version), at: 0)
        }
        return versions
    }
}
