import ProgramTestSupport

/// `make install` and `make uninstall`, by the script that they call.
@Suite struct InstallTests {
    let place: Workplace
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "scripts/install")
        .path

    init() { place = Workplace() }

    private func install(_ arguments: String...) throws -> Finished {
        let build = ProgramUnderTest.castree.url.deletingLastPathComponent().path
        return try place.python([Self.script, "--build", build] + arguments)
    }

    private func files(below path: String) throws -> Set<String> {
        let root = place.directory.appending(path: path)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return Set(
            paths.filter { path in
                var isDirectory: ObjCBool = false
                let whole = root.appending(path: path).path
                return FileManager.default.fileExists(atPath: whole, isDirectory: &isDirectory)
                    && !isDirectory.boolValue
            })
    }

    /// Puts lines before what the list of an installation says, or behind it.
    private func list(_ before: String, _ after: String = "") throws {
        let list = place.url("prefix/share/castree/installed")
        let text = try String(contentsOf: list, encoding: .utf8)
        try (before + text + after).write(to: list, atomically: true, encoding: .utf8)
    }

    private var prefix: String { place.directory.appending(path: "prefix").path }

    @Test func `puts programs, a page for each command and completions in place`() throws {
        try install("--prefix", prefix).ended()
        let installed = try files(below: "prefix")
        for program in ["castree", "castree-fsck"] {
            expect(installed.contains("bin/\(program)"))
            expect(installed.contains("share/bash-completion/completions/\(program)"))
            expect(installed.contains("share/zsh/site-functions/_\(program)"))
            expect(installed.contains("share/fish/vendor_completions.d/\(program).fish"))
        }
        for page in [
            "castree", "castree-add", "castree-serve", "castree-pull", "castree-fsck",
            "castree-origin-serve", "castree-trust-add",
        ] {
            expect(installed.contains("share/man/man1/\(page).1.gz"))
        }
        let listed = Set(
            try place.contents("prefix/share/castree/installed").split(separator: "\n"))
        expect(listed, equals: Set(installed.map { $0[...] }))
        // They work where they are.
        let version = try place.run([prefix + "/bin/castree", "pull", "--help"])
        expect(version.status == 0 && version.text.contains("castree pull"))
    }

    @Test func `no page is two that run together, and none has a sentence for a heading`() throws {
        try expect(install("--prefix", prefix).status, equals: 0)
        let known: Set = [
            "NAME", "SYNOPSIS", "DESCRIPTION", "ARGUMENTS", "COMMANDS", "OPTIONS",
            "OPTIONS OF EVERY COMMAND", "OPTIONS OF CHECK", "EXIT STATUS", "SEE ALSO",
        ]
        let pages = try files(below: "prefix/share/man/man1")
        for name in pages {
            let page = try place.shell("gzip -dc '\(prefix)/share/man/man1/\(name)'").text
            let lines = page.split(separator: "\n")
            for mark in [".SH ", ".SS "] {
                let headings = lines.filter { $0.hasPrefix(mark) }.map { String($0.dropFirst(4)) }
                expect(Set(headings).count, equals: headings.count, "\(name): \(headings)")
                let program = headings.filter { $0.hasPrefix("THE PROGRAM CASTREE\\-") }
                expect(
                    Set(headings).subtracting(program).isSubset(of: known),
                    "\(name): \(headings)")
            }
            expect(lines.count { $0 == ".SH NAME" } == 1 && lines.last?.hasPrefix(".BR ") == true)
            // Two columns are items of a list, not lines that run into each other.
            expect(!lines.contains { $0.hasPrefix("  \\-\\-") }, "\(name)")
        }
    }

    @Test func `a page says what the help of its command says`() throws {
        try expect(install("--prefix", prefix).status, equals: 0)
        let page = try place.shell("gzip -dc '\(prefix)/share/man/man1/castree-gc.1.gz'").text
        expect(page.hasPrefix(".TH CASTREE\\-GC 1"))
        for line in [
            ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXIT STATUS",
            ".B \\-\\-keep N", "castree gc \\-\\-dry\\-run \\-\\-keep 5",
        ] {
            expect(page.contains(line + "\n"), "\(line)")
        }
    }

    @Test func `an uninstallation takes away what was installed, and nothing else`() throws {
        try expect(install("--prefix", prefix).status, equals: 0)
        try place.write(["mine": "precious"], to: "prefix/share/man/man1")
        // A list that somebody has changed leads nowhere else.
        try place.write(["other": "precious"], to: "elsewhere")
        try list("", "../elsewhere/other\n/etc/hostname\n")
        try install("--prefix", prefix, "--uninstall").ended()
        try expect(files(below: "prefix"), equals: ["share/man/man1/mine"])
        try expect(place.contents("elsewhere/other"), equals: "precious")
        let again = try install("--prefix", prefix, "--uninstall")
        expect(again.status == 0 && again.text.contains("nothing of castree is installed"))
    }

    @Test func `twice is as good as once, and what an older one had besides goes`() throws {
        try expect(install("--prefix", prefix).status, equals: 0)
        let once = try files(below: "prefix")
        try place.write(["castree-old": "old"], to: "prefix/bin")
        try list("bin/castree-old\n")
        try expect(install("--prefix", prefix).status, equals: 0)
        try expect(files(below: "prefix"), equals: once)
    }

    @Test func `what was a program of its own is castree where an older castree was`() throws {
        try expect(install("--prefix", prefix).status, equals: 0)
        try place.write(["castree-pull": "old", "castree-origin": "old"], to: "prefix/bin")
        try list("bin/castree-origin\nbin/castree-pull\n")
        for _ in 0..<2 {
            try expect(install("--prefix", prefix).status, equals: 0)
            let help = try place.run([prefix + "/bin/castree-pull", "pull", "--help"])
            expect(help.status == 0 && help.text.contains("castree pull"))
        }
        try expect(install("--prefix", prefix, "--uninstall").status, equals: 0)
        try expect(files(below: "prefix").isEmpty)
    }

    @Test func `a package is made below another root`() throws {
        let root = place.directory.appending(path: "package").path
        try expect(install("--prefix", "/usr", "--destdir", root).status, equals: 0)
        try expect(files(below: "package").contains("usr/bin/castree"))
    }

    @Test func `says what is wrong, and leaves nothing half`() throws {
        try install("--prefix", "here").ended(2, saying: "not absolute")
        try place.write(["bin": "a file"], to: "taken")
        try install("--prefix", place.path("taken")).ended(1, saying: "/taken/bin")
        try place.python([Self.script, "--build", "nowhere", "--prefix", prefix])
            .ended(3, saying: "make build")
        expect(!(place.exists("prefix/bin")))
    }
}
