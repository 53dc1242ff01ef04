import HotPush

/// The manifests that the tests of Meteor's plugin use, written from their facts.
struct MeteorFixture {
    struct Entry {
        var path: String
        var type: String
        var hash: String
        var byteCount: Int
    }

    var version: String
    var entries: [Entry]

    static let iOS = "0abe549f2adbcf6cd295428aefea628ebe69666a"
    static let android = "4017747ca6b4f460f33b121e439b7a11a070205a"
    static let appID = "1waqgcidafgwubeqj8o"

    init(_ number: Int) {
        let template = [
            ("979b20f66caf126704c250fbd29ce253c6cb490e", 578),
            ("3f6275657e6db3a21acb37d0f6c207cf83871e90", 584),
        ][number - 1]
        let file = [
            ("23300652a57f3e819038d9a268ba36af0e25d33b", 10),
            ("20242aa2ac9c728ca21c7cbbee841fd87e8277aa", 20),
        ][number - 1]
        version = "version\(number)"
        var rows: [(String, String, String, Int)] = [
            ("packages/meteor.js", "js", "57d11a30155349aa5106f8150cee35eac5f4764c", 113_991),
            ("app/template.mobileapp.js", "js", template.0, template.1),
            ("app/mobileapp.js", "js", "6db9763f3e0f4e4cbf78111f73823043ab08e3e7", 2275),
            ("merged-stylesheets.css", "css", "20ae2c8d51b2507244e598844414ecdec2615ce3", 30),
            ("app/some-data.json", "asset", "3edc8875bc0dd76d9f5fce5e823dca6f17a26da7", 15),
            ("app/some-file", "asset", file.0, file.1),
            ("app/some-other-file", "asset", "aa4405bb6a2eb7d79af8488b44d91e5c66c123a5", 16),
            ("app/some-font.woff", "asset", "6ec7e1e1c0199bfb5bcd6877de9fe7abefd26df8", 15),
            ("app/some-image.jpg", "asset", "13f1d459365d5604dbf2b64b203fa583c1c7fc3f", 15),
            ("app/some-image.png", "asset", "06b05b4c2720cd9ff733d21c594eac4e865a6e73", 15),
            ("app/some-javascript.js", "asset", "51a3422f25ddf466a35e00e327d5f4ca90eee8f4", 19),
            ("app/some-page.html", "asset", "5dc6878863a1fd4f7f69713b4c072280932255af", 15),
            ("app/some-stylesheet.css", "asset", "b33cc1bdaa963ae1cec9afd4c833d80caf7641a2", 20),
            ("app/some-text.txt", "asset", "bb874a02400d28518a3d0f7a4c7fd8970735bea1", 14),
            ("app/some-video.mp4", "asset", "45e892d4c7ce693f5cd551fcd671cf227ff1ae3a", 15),
            ("head.html", "head", "2ce23f770b76d2f1cb0d71f4a43fbbb61afb25be", 0),
        ]
        if number == 1 { rows.removeAll { $0.0 == "app/some-other-file" } }
        entries = rows.map { Entry(path: $0.0, type: $0.1, hash: $0.2, byteCount: $0.3) }
    }

    /// As Meteor 1.4 writes it.
    var bytes: [UInt8] { Array(text.utf8) }

    var text: String {
        """
        {"format":"web-program-pre1","version":"\(version)",
        "cordovaCompatibilityVersions":{"android":"\(Self.android)","ios":"\(Self.iOS)"},
        "manifest":[
        \(entries.map(Self.json).joined(separator: ",\n"))
        ]}
        """
    }

    private static func json(_ entry: Entry) -> String {
        if entry.type == "head" {
            return """
                {"path":"\(entry.path)","where":"internal","type":"head","hash":"\(entry.hash)"}
                """
        }
        let name = entry.path.split(separator: "/").last.map(String.init) ?? ""
        let folder = entry.path.dropLast(name.count)
        let isAsset = entry.type == "asset"
        let url = isAsset ? "/" + name : "/\(entry.path)?\(entry.hash)"
        let map =
            isAsset
            ? ""
            : "\"sourceMap\":\"\(entry.path).map\",\"sourceMapUrl\":\"/\(folder)\(entry.hash).map\","
        return """
            {"path":"\(entry.path)","where":"client","type":"\(entry.type)","cacheable":\(!isAsset),\
            "url":"\(url)",\(map)"size":\(entry.byteCount),"hash":"\(entry.hash)"}
            """
    }

    /// A manifest with these entries, in JSON.
    static func manifest(_ entries: String, version: String = "1", more: String = "") -> [UInt8] {
        Array(
            """
            {"format":"web-program-pre1","version":"\(version)",\
            "cordovaCompatibilityVersions":{"android":"\(android)","ios":"\(iOS)"},\
            "manifest":[\(entries)]\(more)}
            """.utf8)
    }

    /// An entry of an asset, in JSON; the texts go in as they are.
    static func asset(_ path: String, url: String, more: String = "") -> String {
        """
        {"path":"\(path)","where":"client","type":"asset","cacheable":false,"url":"\(url)"\(more)}
        """
    }

    /// An index page with a runtime configuration, in JSON.
    static func page(_ configuration: String) -> [UInt8] {
        var encoded = ""
        for byte in configuration.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, 45, 95, 46, 33, 126, 42, 39, 40, 41:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return Array(
            """
            <html>
            <head>
              <title>mobileapp</title>
              <script type="text/javascript">
                __meteor_runtime_config__ = JSON.parse(decodeURIComponent("\(encoded)"));
              </script>
            </head>
            <body></body>
            </html>
            """.utf8)
    }
}
