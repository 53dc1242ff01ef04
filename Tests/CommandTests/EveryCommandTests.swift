import ProgramTestSupport

/// Every command that help lists, with every option, on places of every kind: a status of the contract, never a crash.
@Suite struct EveryCommandTests {
    let place = Workplace(inMemory: true)

    private struct Usage {
        let words: [String]
        let operands: [String]
        /// Each with an example of its value, if it takes one.
        let options: [[String]]

        func has(_ option: String) -> Bool { options.contains { $0.first == option } }
    }

    private func commands() throws -> [[String]] {
        let lines = try place.done("--help").text.split(separator: "\n")
        let list = lines.drop { $0 != "Commands:" }.dropFirst().prefix { $0.hasPrefix("  ") }
        let names = list.filter { !$0.hasPrefix("   ") }.map { line in
            let end = line.dropFirst(2).firstRange(of: "  ")?.lowerBound ?? line.endIndex
            return line[..<end].split(separator: " ").map(String.init)
        }
        expect(names.count > 40, "\(names)")
        return names
    }

    private func usage(_ words: [String]) throws -> Usage {
        let text = try place.done(words: words + ["--help"]).text
        let lines = text.components(separatedBy: "\n").drop { !$0.hasPrefix("Usage: ") }
            .prefix { !$0.isEmpty }
        let usage = lines.joined(separator: " ").replacing("|", with: " ")
            .split { " []".contains($0) }.map { String($0).replacing("...", with: "") }
        var (operands, options): ([String], [[String]]) = ([], [])
        for word in usage.dropFirst(2 + words.count) {
            if word.hasPrefix("-") {
                options.append([word])
            } else if let last = options.last, last.count == 1,
                !operands.isEmpty || word != "ORIGIN",
                text.contains("\(last[0]) \(word)")
            {
                options[options.count - 1].append(Self.example(of: word))
            } else {
                operands.append(word)
            }
        }
        return Usage(words: words, operands: operands, options: options)
    }

    private static func example(of value: String) -> String {
        switch value {
        case "TIME": "1s"
        case "N", "PORT", "PERCENT", "VERSION": "1"
        case "URL": "http://127.0.0.1:1"
        default: "missing"
        }
    }

    private func endsWell(_ words: [String]) throws {
        let ending = try place.run(
            .castree, ["--store", "missing"] + words,
            environment: ["AWS_EC2_METADATA_DISABLED": "true"])
        expect((0...22).contains(ending.status), "\(words): \(ending)")
        expect(ending.status == 0 || !ending.errors.isEmpty, "\(words): \(ending)")
        expect(!ending.errors.contains("Fatal error"), "\(words): \(ending)")
    }

    @Test(
        "an empty value, which an unset variable of a unit gives, is refused by every option",
        arguments: ["", " "])
    func emptyValues(_ value: String) throws {
        for words in try commands() where words != ["completions"] {
            for option in try usage(words).options where option.count == 2 {
                try place.ended(
                    words == ["fsck"] ? 16 : 2, words: words + [option[0], value],
                    saying: "\(option[0]) takes")
            }
        }
    }

    @Test(
        arguments: [
            "missing", "s3://bucket/app", "http://127.0.0.1:1/app", "file", ".", "",
        ])
    func `a command ends with a status of the contract, wherever it is pointed`(_ target: String)
        throws
    {
        try place.write(["file": "a file"], to: ".")
        for words in try commands() where words != ["completions"] {
            let usage = try usage(words)
            let network = [
                ["--retries", "0"], ["--anonymous"], ["--endpoint", "http://127.0.0.1:1"],
            ].filter { usage.has($0[0]) }.flatMap(\.self)
            let operands = usage.operands.map { _ in target }
            try endsWell(words + network + operands)
            // A server that gets all it needs would serve.
            guard words.last != "serve" else { continue }
            for option in usage.options where !network.contains(option[0]) {
                try endsWell(words + network + option + operands)
            }
        }
    }
}
