import HotPush

extension ReleaseFile {
    /// Where the only source is.
    var source: String { sources.count == 1 ? sources[0].reference : "" }
}
