import Foundation

/// The suites and tests that stand in the sources of the tests.
struct TestSources {
    /// A suite, or a part of one that an extension adds.
    struct Suite {
        var type: String
        /// The name that `@Suite` gives it.
        var displayName: String?
        var file: String
        var tests: [Test] = []
    }

    struct Test: Equatable {
        /// The name that `@Test` gives it, else the function's.
        var name: String
        /// Whether it runs only where something is so.
        var isConditional: Bool
        var hasCases: Bool
        /// The type that lists its cases, as in `arguments: RequestCase.all`.
        var casesType: String?
    }

    private(set) var suites: [Suite] = []
    /// The texts of files: the cases of a test are literals in its file, or in the one that is named like their type.
    private var texts: [String: String] = [:]

    /// - Parameter root: the directory `Tests`.
    init(_ root: URL) throws {
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        where path.hasSuffix(".swift") {
            add(try String(contentsOf: root.appending(path: path), encoding: .utf8), path)
        }
    }

    init(_ text: String, at path: String) { add(text, path) }

    mutating func add(_ text: String, _ path: String) {
        texts[path] = text
        let types = text.matches(
            of:
                #/
                ^ (?: (?: @Suite (?: \( (?<traits> [^\n]*? (?: \n\s [^\n]*? )*? ) \) )? | package | final | private )
                \s+ )* (?: struct | class | enum | extension ) \s+ (?<name> \w+)
            /#.anchorsMatchLineEndings())
        for (position, type) in types.enumerated() {
            let end =
                position + 1 < types.count ? types[position + 1].range.lowerBound : text.endIndex
            let traits = String(type.traits ?? "")
            var suite = Suite(
                type: String(type.name), displayName: Self.literal(at: traits[...]), file: path)
            suite.tests = Self.tests(
                in: text[type.range.upperBound..<end], areConditional: Self.isConditional(traits))
            suites.append(suite)
        }
    }

    private static func tests(in body: Substring, areConditional: Bool) -> [Test] {
        body.matches(of: #/@Test\b/#).compactMap { match in
            var rest = body[match.range.upperBound...]
            var traits = ""[...]
            if rest.first == "(" {
                let end = endOfParentheses(rest)
                traits = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[end...]
            }
            guard let function = rest.firstMatch(of: #/func\s+(?:`([^`]+)`|(\w+))/#) else {
                return nil
            }
            let name = literal(at: traits) ?? String(function.1 ?? function.2 ?? "")
            return Test(
                name: name, isConditional: areConditional || isConditional(String(traits)),
                hasCases: traits.contains("arguments:"),
                casesType: traits.firstMatch(of: #/arguments:\s*([A-Z]\w*)\./#).map { String($0.1) }
            )
        }
    }

    private static func isConditional(_ traits: String) -> Bool {
        [".enabled(", ".disabled(", ".needs"].contains { traits.contains($0) }
    }

    /// The literal that a list of arguments begins with.
    private static func literal(at arguments: Substring) -> String? {
        guard let match = arguments.prefixMatch(of: #/\s*"((?:[^"\\]|\\.)*)"/#) else { return nil }
        return String(match.1)
    }

    /// The index of the parenthesis that closes the first one.
    private static func endOfParentheses(_ text: Substring) -> Substring.Index {
        var depth = 0
        var isLiteral = false
        var isEscaped = false
        for index in text.indices {
            let character = text[index]
            if isLiteral {
                if isEscaped {
                    isEscaped = false
                } else if character == "\\" {
                    isEscaped = true
                } else if character == "\"" {
                    isLiteral = false
                }
                continue
            }
            switch character {
            case "\"": isLiteral = true
            case "(": depth += 1
            case ")":
                depth -= 1
                if depth == 0 { return index }
            default: break
            }
        }
        return text.endIndex
    }

    /// The parts of a suite; before a dot may stand the folder in which it is.
    func suite(_ name: String) -> [Suite] {
        let parts = name.split(separator: ".")
        guard let type = parts.last else { return [] }
        return suites.filter { suite in
            suite.type == type
                && (parts.count == 1 || suite.file.split(separator: "/").contains(parts[0]))
        }
    }

    /// The test of a suite with a name, or the one that has a case of that name.
    func test(_ name: String, of suite: [Suite]) -> Test? {
        for part in suite {
            if let test = part.tests.first(where: { $0.name == name }) { return test }
        }
        let files = Set(suite.map(\.file))
        return suite.flatMap(\.tests).first { test in
            guard test.hasCases else { return false }
            let list = test.casesType.map { "/\($0).swift" }
            return texts.contains { file, text in
                (files.contains(file) || list.map(file.hasSuffix) ?? false)
                    && text.contains("\"\(name)\"")
            }
        }
    }
}
