/// The media type of a file, by its name: the types of the IANA registry that the web uses.
package struct MediaType: Sendable, Equatable {
    /// The kind of request that a missing file of this type was for.
    package enum Use: Sendable { case page, asset }

    package let name: String
    /// Whether it is text, which is UTF-8 here.
    package let isText: Bool
    package let use: Use

    /// Whether it is an archive or compressed, and so is wanted as it is.
    package var isArchive: Bool { Self.archives.contains { $0.0 == name } }

    /// The type when nothing is known; with `nosniff`, a browser guesses nothing from it.
    package static let unknown = MediaType(
        name: "application/octet-stream", isText: false, use: .asset)

    package func contentType(withCharset: Bool) -> String {
        isText && withCharset ? name + "; charset=utf-8" : name
    }

    /// The type of a path by the ending of its last component, in any case; `nil` if unknown.
    package static func known(_ path: some BidirectionalCollection<UInt8>) -> MediaType? {
        var count = 0
        var word: UInt64 = 0
        for byte in path.reversed() {
            if byte == 46 { return count <= 8 ? short[word] : long(path, count) }
            if byte == 47 || byte == 0 || count > endingMax { return nil }
            if count < 8 { word |= UInt64(byte.lowercased) << (8 * UInt64(count)) }
            count += 1
        }
        return nil
    }

    private static let endingMax = 12

    private static func long(
        _ path: some BidirectionalCollection<UInt8>, _ count: Int
    ) -> MediaType? {
        let ending = path.suffix(count).map(\.lowercased)
        return table[String(decoding: ending, as: UTF8.self)]
    }

    /// Endings of up to eight bytes as numbers, the last byte lowest, so that no string is made.
    private static let short: [UInt64: MediaType] = {
        var short: [UInt64: MediaType] = [:]
        for (ending, type) in table where ending.utf8.count <= 8 {
            var word: UInt64 = 0
            for byte in ending.utf8 { word = word << 8 | UInt64(byte) }
            short[word] = type
        }
        return short
    }()

    private static let table: [String: MediaType] = {
        var table: [String: MediaType] = [:]
        func add(_ types: [(String, String)], isText: Bool, use: Use) {
            for (name, endings) in types {
                for ending in endings.split(separator: " ") {
                    table[String(ending)] = MediaType(name: name, isText: isText, use: use)
                }
            }
        }
        add(pages, isText: true, use: .page)
        add(texts, isText: true, use: .asset)
        add(others, isText: false, use: .asset)
        add(archives, isText: false, use: .asset)
        return table
    }()

    private static let pages = [
        ("text/html", "html htm"), ("application/xhtml+xml", "xhtml"),
    ]

    // JSON has no charset parameter (RFC 8259, section 11): it is always UTF-8.
    private static let texts = [
        ("text/javascript", "js mjs cjs"), ("text/css", "css"), ("text/plain", "txt text log"),
        ("text/markdown", "md markdown"), ("text/csv", "csv"), ("text/calendar", "ics"),
        ("text/vtt", "vtt"), ("text/vcard", "vcf"), ("text/cache-manifest", "appcache"),
        ("image/svg+xml", "svg"), ("application/xml", "xml xsl xslt"),
        ("application/rss+xml", "rss"), ("application/atom+xml", "atom"),
    ]

    private static let archives = [
        ("application/zip", "zip"), ("application/gzip", "gz tgz"), ("application/zstd", "zst"),
        ("application/x-tar", "tar"), ("application/x-7z-compressed", "7z"),
        ("application/x-bzip2", "bz2"), ("application/x-xz", "xz"),
        ("application/epub+zip", "epub"), ("application/vnd.android.package-archive", "apk"),
    ]

    private static let others = [
        ("application/json", "json map topojson"), ("application/manifest+json", "webmanifest"),
        ("application/ld+json", "jsonld"), ("application/geo+json", "geojson"),
        ("application/wasm", "wasm"), ("application/pdf", "pdf"), ("application/rtf", "rtf"),
        ("application/vnd.ms-fontobject", "eot"),
        ("application/vnd.apple.mpegurl", "m3u8"), ("application/dash+xml", "mpd"),
        // Files that engines load as they are; Unity's are compressed by the build.
        ("application/octet-stream", "data mem"),
        ("image/png", "png"), ("image/apng", "apng"), ("image/jpeg", "jpg jpeg jfif"),
        ("image/gif", "gif"), ("image/webp", "webp"), ("image/avif", "avif"),
        ("image/jxl", "jxl"), ("image/bmp", "bmp"), ("image/tiff", "tif tiff"),
        ("image/vnd.microsoft.icon", "ico cur"), ("image/heic", "heic"), ("image/heif", "heif"),
        ("font/woff", "woff"), ("font/woff2", "woff2"), ("font/ttf", "ttf"), ("font/otf", "otf"),
        ("font/collection", "ttc"),
        ("video/mp4", "mp4 m4v"), ("video/webm", "webm"), ("video/ogg", "ogv"),
        ("video/quicktime", "mov"), ("video/mp2t", "ts"), ("video/x-msvideo", "avi"),
        ("video/x-matroska", "mkv"), ("audio/mpeg", "mp3"), ("audio/mp4", "m4a"),
        ("audio/aac", "aac"), ("audio/ogg", "ogg oga opus"), ("audio/wav", "wav"),
        ("audio/webm", "weba"), ("audio/flac", "flac"), ("audio/midi", "mid midi"),
        ("model/gltf-binary", "glb"), ("model/gltf+json", "gltf"),
    ]
}
