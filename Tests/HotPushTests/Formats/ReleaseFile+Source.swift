import HotPush

extension ReleaseFile {
    var source: String { sources.count == 1 ? sources[0].reference : "" }
}
