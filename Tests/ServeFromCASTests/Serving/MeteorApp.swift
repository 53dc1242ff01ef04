import StrictJSON

/// The app of the plugin's tests, and what Cordova brings along.
enum MeteorApp {
    static let label = "57d11a30155349aa5106f8150cee35eac5f4764c"
    static let buster = "9418708e9519b747d9d631d85ea85b90c0b5c70c"
    static let map = "/app/979b20f66caf04bfd3ef0f8a4ad4f7d83fd3b3b0.map"

    static let files: [SampleSite.File] = {
        let types = [
            ("some-page.html", "html"), ("some-script.js", "js"), ("some-style.css", "css"),
            ("some-json.json", "json"), ("some-text.txt", "text"), ("some-image.png", "png"),
            ("some-photo.jpg", "jpg"), ("some-movie.mp4", "mp4"), ("some-file", "some-file"),
        ]
        return
            types.map {
                .init(
                    "app/" + $0.0, $0.1, routes: ["/" + $0.0],
                    foreign: [("cacheable", .bool(false))])
            } + [
                .init("index.html", "<title>mobileapp</title>"),
                .init(
                    "packages/meteor.js", "meteor", routes: ["/packages/meteor.js?\(label)"],
                    foreign: [("hash", .string(label)), ("cacheable", .bool(true))]),
                .init(
                    "app/template.mobileapp.js", "template",
                    routes: ["/app/template.mobileapp.js?\(buster)"],
                    foreign: [
                        ("hash", .string(buster)), ("cacheable", .bool(true)),
                        ("sourceMapUrl", .string(map)),
                    ]),
                .init(
                    "app/template.mobileapp.js.map", "{\"sources\":[]}", routes: [map],
                    foreign: [("cacheable", .bool(true))]),
                .init("app/mobileapp.css", "css", foreign: [("cacheable", .bool(true))]),
            ]
    }()

    static let shell: [SampleSite.File] = [
        .init("cordova_plugins.js", "cordova.define('cordova/plugin_list'"),
        .init("application/secret", "never"),
    ]
}
