import StorageTestSupport

@testable import UsagePage
@testable import VersionTree

/// What the page says in each of its two kinds of sizes.
@Suite("Sizes on the usage page", .enabled(if: PageScript.node != nil)) struct PageSizesTests {
    /// A view: what it shows, in bytes.
    struct View: Decodable {
        /// The whole map; the bar; each version's map.
        var whole: Int64
        var bar: Int64
        var versions: [String: Int64]
        /// What retiring 1 and 2 together would free, by the map alone.
        var freed: Int64
        var barParts: [String]
    }

    struct Answer: Decodable {
        var content: View
        var disk: View
        var titles: [String]
        var plainTitles: [String]
        var proposed: String?
        var commands: [String]
    }

    /// Versions that share, repeat, and have executable files; garbage, parts, and what packs were made of.
    private func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        let script = "#!/bin/sh\n" + String(repeating: "#", count: 9000)
        for version in ["1", "2", "3", "4"] {
            try temporary.add(
                version,
                [
                    "index.html": "page \(version)", "bin/run": script, "a/twice": "the same",
                    "b/twice": "the same", "empty": "",
                    "own": String(repeating: version, count: 5000 * (Int(version) ?? 1)),
                    "old": version < "3" ? String(repeating: "old", count: 4000) : "new",
                ])
        }
        try temporary.add("gone", ["gone": String(repeating: "gone", count: 3000)])
        try temporary.versions.retire("gone")
        try writeTree(
            temporary.path,
            [
                "packing/\(String(repeating: "b", count: 32))/frames/f": "frame",
                "staging/\(String(repeating: "c", count: 64))": "part",
                "quarantine/\(String(repeating: "d", count: 64))": "damaged",
            ])
        try temporary.versions.activate("1")
        try temporary.versions.protect("3")
        return temporary
    }

    private func answer(_ temporary: TemporaryStore, path: String) throws -> (Answer, UsageSurvey) {
        var options = SurveyOptions()
        options.mapFilesMax = 1000
        var survey = try temporary.versions.survey(options)
        survey.path = path
        let answer: Answer = try PageScript.run(
            """
            const view = sizes => {
              const usage = measured(figures, sizes);
              const model = new Model(usage);
              const versions = Object.fromEntries(model.versions.map((version, place) => {
                model.look(place);
                return [version, model.weight[0]];
              }));
              model.look(-1);
              const parts = composition(usage).filter(([, bytes]) => bytes > 0);
              return {
                whole: model.weight[0], bar: parts.reduce((sum, [, bytes]) => sum + bytes, 0), versions,
                freed: model.freed([0, 1]), barParts: parts.map(([name]) => name)
              };
            };
            const usage = measured(figures, diskSizes);
            usage.kept = new Map(usage.lifecycle.kept.map(each => [each.version, each.reason]));
            const model = new Model(usage);
            model.look(-1);
            const titles = node => model.inside(0).filter(each => model.names[each] === 'index.html')
              .map(each => node ? model.path(each, true) : model.label(each)).sort();
            console.log(JSON.stringify({
              content: view(contentSizes), disk: view(diskSizes), titles: titles(false), plainTitles: titles(true),
              proposed: idlest(usage)?.version ?? null,
              commands: [commands(usage, ['gc']), commands(usage, ['retire', '1'], ['gc'])]
            }));
            """, after: ["model.js", "tables.js"], figures: UsagePage.json(survey))
        return (answer, survey)
    }

    @Test("add up to what the store takes, whichever is chosen, with a name for every part")
    func sums() throws {
        let temporary = try makeStore()
        let (answer, survey) = try answer(temporary, path: ".castree")
        let store = survey.store
        expect(answer.content.whole, equals: store.objectBytes + store.stagedBytes)
        expect(answer.content.bar, equals: answer.content.whole)
        expect(answer.disk.whole, equals: store.diskBytes)
        expect(answer.disk.bar, equals: store.diskBytes)
        expect(
            Set(answer.disk.barParts).isSuperset(of: [
                "shared", "unique", "garbage", "staged", "index", "packing", "reserve",
            ]))
        // What is only called the rest is no lump.
        expect(store.disk[.other].diskBytes * 10 < store.diskBytes)
        for usage in survey.versions {
            expect(answer.content.versions[usage.version], equals: usage.apparentBytes)
            expect(answer.disk.versions[usage.version], equals: usage.disk?.plainBytes, "\(usage)")
        }
        let retirement = try temporary.versions.retirement(of: ["1", "2"])
        expect(answer.content.freed, equals: retirement.bytes)
    }

    @Test("title a file with its versions where a path has two contents, and search without them")
    func titles() throws {
        let temporary = try makeStore()
        let (answer, _) = try answer(temporary, path: ".castree")
        expect(answer.titles, equals: ["1", "2", "3", "4"].map { "index.html (\($0))" })
        expect(Set(answer.plainTitles), equals: ["index.html"])
    }

    @Test
    func `propose to retire what frees most and nothing needs, and never the newest`() throws {
        let temporary = try makeStore()
        // 4 has most and is the newest, 3 is protected, 1 is current.
        try expect(answer(temporary, path: ".castree").0.proposed, equals: "2")
        try temporary.versions.protect("2")
        try expect(answer(temporary, path: ".castree").0.proposed == nil)
    }

    @Test func `give commands that a shell takes as they are meant`() throws {
        let temporary = try makeStore()
        try expect(
            answer(temporary, path: ".castree").0.commands,
            equals: ["castree gc", "castree retire 1 && castree gc"])
        try expect(
            answer(temporary, path: "/srv/it's").0.commands[0],
            equals: #"castree --store '/srv/it'\''s' gc"#)
    }
}
