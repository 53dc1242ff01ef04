internal import CASStore
package import Console
internal import StrictJSON
package import VersionTree

extension Command {
    /// `du`: what uses how much disk.
    /// - Parameters:
    ///   - page: makes the page for `--html`; without it there is no such option.
    ///   - origin: shows an origin that is given in place of versions; `nil` if these are versions.
    package static func usage(
        from source: StoreSource, page: (@Sendable (UsageSurvey) throws -> [UInt8])? = nil,
        origin: (@Sendable (Invocation, [String]) throws -> ExitStatus?)? = nil
    ) -> Command {
        let operand = origin == nil ? "VERSION" : "VERSION|ORIGIN"
        return Command(
            "du", summary: "shows how much disk space the store and its versions use",
            discussion: discussion(source, hasPage: page != nil)
                + (origin == nil
                    ? ""
                    : "\n\nThe size of an origin, and what its packs save a device, as lengths "
                        + "of files, which servers send and buckets charge for (on disk, blocks "
                        + "take more):\n"
                        + "    castree du /srv/www/updates\n    castree du s3://updates/app"),
            arguments: source.arguments + [
                Argument(
                    operand,
                    "only these versions"
                        + (origin == nil
                            ? "" : "; or an origin: its directory or s3://BUCKET/PREFIX"),
                    .any, completion: .versions(from: source))
            ],
            options: [
                .choice(
                    "by", of: Grouping.allCases.map(\.rawValue),
                    "group by this; directory and type show VERSION, else the current version, else "
                        + "the newest"),
                .integer("top", in: 1...1_000_000, "print at most this many rows of a table"),
                .integer(
                    "largest", in: 0...100_000, "show this many of the largest objects",
                    fallback: 10),
                .text(
                    "retire", placeholder: "A,B",
                    "show what retiring these versions together would free",
                    repeats: true, completion: .versions(from: source)),
            ] + (page == nil ? [] : [.html]) + (origin == nil ? [] : Option.reachingBucket),
            statuses: .store
        ) { invocation in
            let named = invocation.arguments(operand)
            if let origin, let status = try origin(invocation, named) { return status }
            if origin != nil {
                try invocation.refuse(
                    Option.reachingBucket, "is for origins in buckets: s3://BUCKET/PREFIX")
            }
            let html = try page == nil ? nil : invocation.value("html")
            if let html { try refuseOwnPlace(html) }
            let request = try UsageRequest(invocation, named)
            do {
                let versions = try invocation.openStore(from: source)
                if let page, let html {
                    try request.write(page, of: versions, to: html)
                } else {
                    try request.show(versions)
                }
            } catch var error as StoreError where origin != nil {
                let lacking = named.filter {
                    error.code == .noStore || error.message == StoreError.noVersion($0).message
                }
                if !lacking.isEmpty {
                    error.message +=
                        "; du takes versions of a store (--store DIR), or the directory of an origin, and "
                        + "\(printable(lacking.joined(separator: " "))) is no origin"
                }
                throw error
            }
            return .done
        }
    }

    private static func discussion(_ source: StoreSource, hasPage: Bool) -> String {
        """
        Sizes on disk are those of du(1): the blocks of files and directories. So you can compare \
        what plain copies would take, what the store takes, and what retiring a version frees. \
        Apparent and content sizes are the lengths of the files. docs/disk-usage.md explains each \
        figure.

        Where the space went, and what you could free:
            \(source.example("du --by version --top 10"))
            \(source.example("du --retire 41,42"))
            \(source.example("du --by directory"))
        """
            + (hasPage
                ? "\n\nThe same as a web page:\n    castree du --html usage.html"
                : "")
    }
}

extension Option {
    fileprivate static let html = Option.text(
        "html", placeholder: "FILE", "write a web page instead: one file that needs no network",
        completion: .files)
}

private enum Grouping: String, CaseIterable {
    case directory, type, object, version
}

private struct UsageRequest {
    let invocation: Invocation
    let grouping: Grouping?
    let rowsMax: Int
    let options: SurveyOptions

    init(_ invocation: Invocation, _ versions: [String]) throws {
        self.invocation = invocation
        grouping = try invocation.value("by").flatMap { Grouping(rawValue: $0) }
        let top = try invocation.integer("top")
        rowsMax = top ?? (grouping == nil ? Int.max : 20)
        var options = SurveyOptions()
        options.versions = versions
        for list in invocation.values("retire") {
            options.retiring += list.split(separator: ",").map { String($0) }
        }
        options.largestMax = try invocation.integer("largest") ?? 10
        if grouping == .object {
            options.largestMax = top ?? 20
            options.entriesReadMax = .max
        }
        self.options = options
    }

    func show(_ versions: VersionStore) throws {
        var options = options
        if !invocation.isJSON {
            // Do not gather what no table shows.
            options.looksAtDisk =
                (grouping == nil || grouping == .version) && options.retiring.isEmpty
            if grouping != nil && grouping != .object { options.largestMax = 0 }
            options.sharingMax = 0
            // One path of each object is printed.
            if grouping == nil { options.entriesReadMax = 0 }
        }
        let survey =
            try isBrief ? versions.briefSurvey(options) : versions.survey(options)
        let groups = try groups(versions, survey)
        let figures = UsageFigures(
            survey: survey, rowsMax: rowsMax, sizes: invocation.sizes)
        try invocation.report { writer in
            survey.writeMembers(to: &writer)
            if !groups.isEmpty { write(groups, to: &writer) }
        } text: { output in
            switch grouping {
            case _ where survey.retirement != nil:
                if let retirement = survey.retirement { figures.print(retirement, to: output) }
            case nil: figures.print(to: output)
            case .object: figures.printLargest(to: output)
            case .version: figures.printVersions(to: output, largestFirst: true)
            case .directory, .type:
                for (place, (version, usages)) in groups.enumerated() {
                    if place > 0 { output.print("") }
                    figures.print(
                        usages, heading: heading(version),
                        nameless: grouping == .type ? "without" : ".", to: output)
                }
            }
        }
    }

    /// Whether the output is only about named versions, and not about the store as a whole.
    private var isBrief: Bool {
        if invocation.isJSON { return false }
        if !options.retiring.isEmpty { return true }
        switch grouping {
        case .directory, .type: return true
        case .version: return !options.versions.isEmpty
        case .object, nil: return false
        }
    }

    func write(
        _ page: (UsageSurvey) throws -> [UInt8], of versions: VersionStore, to file: String
    ) throws {
        var options = options
        options.largestMax = max(options.largestMax, 50)
        options.mapFilesMax = 100_000
        let bytes = try page(versions.survey(options))
        // A pipe gets the page and nothing else.
        guard try replaceFile(file, with: bytes, asking: fileSystem(forWritingIn:_:)) else {
            return
        }
        try invocation.report("Wrote \(file), \(invocation.sizes.text(bytes.count)).") { writer in
            writer.member("html", file)
            writer.member("bytes", bytes.count)
        }
    }

    private func heading(_ version: String) -> String {
        let noun = grouping == .type ? "TYPES" : "DIRECTORIES"
        return "\(noun) OF \(version)"
    }

    private func groups(
        _ versions: VersionStore, _ survey: UsageSurvey
    ) throws -> [(version: String, usages: [PathUsage])] {
        guard let by = grouping.flatMap({ PathGrouping(rawValue: $0.rawValue) }) else { return [] }
        var names = options.versions.isEmpty ? [] : survey.versions.map(\.version)
        if names.isEmpty, let name = survey.lifecycle.current ?? survey.versions.first?.version {
            names = [name]
        }
        return try names.map { ($0, try versions.usage(of: $0, by: by)) }
    }

    private func write(
        _ groups: [(version: String, usages: [PathUsage])], to writer: inout JSONWriter
    ) {
        writer.member("by", grouping?.rawValue)
        writer.member("groups", groups) { writer, group in
            writer.member("version", group.version)
            writer.member("count", group.usages.count)
            writer.key("largest")
            writer.array(group.usages.prefix(rowsMax)) { writer, usage in
                usage.write(to: &writer)
            }
        }
    }
}
