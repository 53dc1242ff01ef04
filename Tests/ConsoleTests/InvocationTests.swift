import Expectations

@testable import Console

@Suite struct InvocationTests {
    @Test(arguments: [
        (["--store", "given"], ["CASTREE_STORE": "variable"], "given"),
        ([], ["CASTREE_STORE": "variable"], "variable"),
        ([], ["CASTREE_STORE": ""], ".castree"),
        ([], [:], ".castree"),
    ])
    func `an option falls back to its variable and then to its default`(
        arguments: [String], environment: [String: String], expected: String
    ) throws {
        let surroundings = Surroundings(environment: environment)
        let call = try invocation(["versions"] + arguments, surroundings)
        try expect(call.value("store"), equals: expected)
    }

    @Test func `a number is a number`() throws {
        try expect(call("serve --port 8080").integer("port"), equals: 8080)
        try expect(call("serve").integer("port"), equals: 0)
    }

    @Test func `a variable with a wrong value is a usage error that names it`() throws {
        let option = Option(name: "jobs", shape: .integer(1...16), summary: "", environment: "JOBS")
        let command = Command("run", summary: "", options: [option]) { invocation in
            _ = try invocation.integer("jobs")
            return .done
        }
        let program = Program("p", version: "1", summary: "", commands: [command])
        let outcome = program.outcome(of: "run", environment: ["JOBS": "many"])
        expect(outcome.status, equals: 2)
        expect(
            outcome.errors.hasPrefix(
                "p: the environment variable JOBS takes a whole number from 1 to 16, not 'many'\n"))
        expect(program.outcome(of: "run --jobs 3", environment: ["JOBS": "many"]).status, equals: 0)
    }

    @Test func `operands belong to arguments in order`() throws {
        let command = Command(
            "c", summary: "",
            arguments: [Argument("A", ""), Argument("B", "", .optional), Argument("C", "", .any)]
        ) { call in
            call.output.print("\(call.argument("A")),\(call.optionalArgument("B") ?? "none"),")
            call.output.print("\(call.arguments("C").joined(separator: "+"))")
            return .done
        }
        let program = Program("p", version: "1", summary: "", commands: [command])
        expect(program.outcome(of: "c 1").output, equals: "1,none,\n\n")
        expect(program.outcome(of: "c 1 2 3 4").output, equals: "1,2,\n3+4\n")
    }

    @Test func `an option without a value has none`() throws {
        let plain = try call("du")
        try expect(plain.value("html") == nil)
        #expect(throws: CommandError.usage("missing option --html FILE")) {
            try plain.requiredValue("html")
        }
        try expect(call("du --html page").requiredValue("html"), equals: "page")
    }

    @Test func `sizes are exact with --bytes and in JSON`() {
        expect(Fixture.program.outcome(of: "du").output, equals: "12.3 MiB\n")
        expect(Fixture.program.outcome(of: "du --bytes").output, equals: "12897485 B\n")
        expect(Fixture.program.outcome(of: "du --json").output, equals: "{\"size\":12897485}\n")
    }

    @Test func `a command waits for asynchronous work and gets its result or error`() async throws {
        let call = try call("du")
        let answer = try await onOwnThread {
            try call.waiting {
                await Task.yield()
                return 42
            }
        }
        expect(answer, equals: 42)
        await #expect(throws: UnknownError.self) {
            try await onOwnThread { try call.waiting { throw UnknownError(word: "late") } }
        }
    }

    private func call(_ line: String) throws -> Invocation {
        try invocation(line.split(separator: " ").map(String.init), Surroundings())
    }

    private func invocation(
        _ arguments: [String], _ surroundings: Surroundings
    ) throws -> Invocation {
        let program = Fixture.program
        guard
            case .run(let command, let given, let operands) =
                try Parser(program: program).parse(arguments)
        else { throw UnknownError(word: "not a command") }
        return Invocation(
            program: program, command: command, given: given, operands: operands,
            surroundings: surroundings,
            diagnostics: Diagnostics(
                program: program.name, errors: surroundings.errors, isJSON: false, isQuiet: false))
    }
}
