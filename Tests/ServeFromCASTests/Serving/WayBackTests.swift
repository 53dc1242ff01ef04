import StorageTestSupport

@testable import ServeFromCAS

/// A browser's way back takes documents and what they load from its cache without asking.
///
/// Only `Vary` forbids it (RFC 9111, section 4.1; Chromium, Firefox and WebKit look at it there, too). A restored session
/// and a tab that is opened again do the same.
@Suite("The way back")
struct WayBackTests {
    /// What happens in two tabs of one browser.
    enum Step: CaseIterable {
        case switching, goHome, goHelp, otherTab, late, lateInOther, backHome, backHelp
    }

    /// The browser: its cache, and which page each tab shows.
    final class Visitor {
        struct Copy {
            /// Of the request, if the answer varies with it.
            var cookie: String??
            var answer: TestResponse
        }
        struct Page {
            var path: String
            var name: String
            var hints: [(String, String)]
        }

        let browser: TestBrowser
        let hasHints: Bool
        var copies: [String: Copy] = [:]
        var tabs: [Int: Page] = [:]
        var mixed: [String] = []

        init(_ app: TestApp, hasHints: Bool) throws {
            browser = try app.browser()
            self.hasHints = hasHints
        }

        private var cookie: String? { browser.cookies.first?.value }

        private func ask(
            _ path: String, _ fields: [(String, String)], fromCache: Bool
        ) throws -> TestResponse {
            if fromCache, let copy = copies[path],
                copy.cookie.map({ $0 == cookie }) ?? true
            {
                return copy.answer
            }
            let sent = cookie
            let answer = try browser.ask("GET", path, fields)
            let vary = answer.value("Vary") ?? ""
            let caching = answer.value("Cache-Control") ?? ""
            copies[path] =
                caching.contains("no-store")
                ? nil : Copy(cookie: vary.contains("Cookie") ? .some(sent) : nil, answer: answer)
            return answer
        }

        func load(_ tab: Int, _ path: String, fromCache: Bool = false) throws {
            let answer = try ask(
                path, navigation + (hasHints ? Hints.all : []), fromCache: fromCache)
            tabs[tab] = Page(
                path: path, name: answer.text.contains("one") ? "one" : "two",
                hints: hasHints ? Hints.left(by: answer) : [])
            // Each page has a script, and one has a style besides.
            try fetch(tab, "/app.js", fromCache: fromCache)
            if path == "/" { try fetch(tab, "/style.css", fromCache: fromCache) }
        }

        /// Without hints what comes late may be wrong (docs/serving.md), and is kept.
        func fetchLate(_ tab: Int) throws {
            try fetch(tab, "/style.css", fromCache: false, isChecked: hasHints)
        }

        func fetch(_ tab: Int, _ path: String, fromCache: Bool, isChecked: Bool = true) throws {
            guard let page = tabs[tab] else { return }
            let fields = scriptLoad + [("Referer", browser.origin + page.path)] + page.hints
            let answer = try ask(path, fields, fromCache: fromCache)
            guard isChecked, answer.status == 200, !answer.text.contains(page.name) else { return }
            mixed.append("page \(page.path) of \(page.name): \(path) is \(answer.text)")
        }
    }

    @Test(
        "leads to no page of two versions, whatever was kept, and by which tab",
        arguments: [true, false])
    func unmixed(_ hasHints: Bool) throws {
        let app = try TestApp(TemporaryStore.app())
        var isFirst = true
        for first in Step.allCases {
            for second in Step.allCases {
                for third in Step.allCases {
                    let steps = [first, second, third]
                    guard steps.contains(.switching) else { continue }
                    let visitor = try Visitor(app, hasHints: hasHints)
                    try visitor.load(1, "/")
                    for step in steps + [.backHelp, .backHome] {
                        switch step {
                        case .switching:
                            try app.store.versions.activate(isFirst ? "2" : "1")
                            app.server.follow()
                            isFirst.toggle()
                        case .goHome: try visitor.load(1, "/")
                        case .goHelp: try visitor.load(1, "/help/")
                        case .otherTab: try visitor.load(2, "/")
                        case .late: try visitor.fetchLate(1)
                        case .lateInOther: try visitor.fetchLate(2)
                        case .backHome: try visitor.load(1, "/", fromCache: true)
                        case .backHelp: try visitor.load(1, "/help/", fromCache: true)
                        }
                    }
                    expect(visitor.mixed, equals: [], "\(steps)")
                }
            }
        }
    }
}
