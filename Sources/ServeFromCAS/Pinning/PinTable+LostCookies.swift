import VersionTree

// A browser may lose its cookie while pages are open: by a logout (Clear-Site-Data), a setting, an extension, or because
// it keeps only so many. With its next page it seems to be new, and all its pages send the new cookie. Their marks still
// tell them apart, if the new browser gives away none that the earlier one's pages have.
//
// Which one that is cannot be told. But it has shown its cookie for the last time before the new one came.
extension PinTable {
    /// The browsers whose pages may be in one that came without a cookie, with the marks that they gave away.
    private func forerunners(of name: String) -> [Browser] {
        guard let since = browsers[name]?.bareSince else { return [] }
        return browsers.filter { other, browser in
            other != name && !browser.marks.isEmpty && browser.usedAt <= since
        }.map(\.value)
    }

    /// The versions that a mark has from before its browser lost its cookie, if the browser itself does not know it.
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

    /// The same; if it is one, the browser knows it from now on.
    mutating func inherit(_ mark: PageMark, in name: String) -> [VersionName] {
        let versions = inheritable(mark, in: name)
        if versions.count == 1, let version = versions.first {
            browsers[name]?.marks.insert((mark, version), at: 0)
        }
        return versions
    }
}
