import Expectations

@testable import Console
@testable import StoreCommands

/// Whole programs in processes of their own: exit statuses, signals, streams.
@Suite struct ProcessTests {
    @Test func `a program prints its result and ends with its status`() async throws {
        let result = try await #require(
            processExitsWith: .exitCode(0), observing: [\.standardOutputContent]
        ) {
            let program = Fixture.program
            program.main(arguments: ["versions", "x"])
        }
        expect(text(result.standardOutputContent).contains("versions x\n"))
    }

    @Test func `an error that nobody knows is a message and not a crash`() async throws {
        let result = try await #require(
            processExitsWith: .exitCode(1), observing: [\.standardErrorContent]
        ) {
            let program = Fixture.program
            program.main(arguments: ["fail", "boom"])
        }
        expect(text(result.standardErrorContent).contains("castree: unexpected error: "))
    }

    @Test func `an argument that is not UTF-8 is refused`() async throws {
        await #expect(processExitsWith: .exitCode(2)) {
            let program = Fixture.program
            program.main(arguments: ["versions", nil])
        }
        await #expect(processExitsWith: .exitCode(16)) {
            let program = Fixture.checker
            program.main(arguments: [nil])
        }
        // "The command line was wrong" is 16 of a check, of whatever program it is a command.
        await #expect(processExitsWith: .exitCode(16)) {
            let program = Fixture.program
            program.main(arguments: ["fsck", nil])
        }
        await #expect(processExitsWith: .exitCode(16)) {
            let program = Fixture.program
            program.main(arguments: ["--store", nil, "fsck"])
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `the first signal asks the work to stop, and it ends with 130`(
        number: Int32
    ) async throws {
        let result = try await #require(
            processExitsWith: .exitCode(130), observing: [\.standardErrorContent]
        ) { [number] in
            run { _ in
                expect(!Interruption.isRequested)
                try send(number)
                expect(Interruption.isRequested)
                if Interruption.isRequested { throw CommandError.interrupted }
                return .done
            }
        }
        expect(text(result.standardErrorContent).contains("p: interrupted\n"))
    }

    @Test func `whatever breaks when work is stopped, the status tells of the signal`() async {
        await #expect(processExitsWith: .exitCode(130)) {
            run { _ in
                try send(SIGINT)
                throw CommandError(code: "x", message: "the transfer was cut off")
            }
        }
    }

    @Test func `work that is finished in spite of a signal keeps its status`() async {
        await #expect(processExitsWith: .exitCode(4)) {
            run { _ in
                try send(SIGINT)
                return .problemsLeft
            }
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `the second signal ends the process at once`(number: Int32) async {
        await #expect(processExitsWith: .exitCode(130)) { [number] in
            run { _ in
                try send(number)
                kill(getpid(), number)
                while true { pause() }
            }
        }
    }

    @Test func `whatever holds it, the process ends thirty seconds after the first signal`() async {
        await #expect(processExitsWith: .exitCode(130)) {
            run { _ in
                try send(SIGTERM)
                expect(alarm(0), equals: 30)
                kill(getpid(), SIGALRM)
                while true { pause() }
            }
        }
    }

    @Test func `a signal cancels the work that a command waits for`() async {
        await #expect(processExitsWith: .exitCode(130)) {
            try await onOwnThread { () -> Void in
                run { call in
                    try call.waiting {
                        try send(SIGINT)
                        while true { try await Task.sleep(for: .seconds(1000)) }
                    }
                }
            }
        }
    }

    @Test func `a signal that the parent ignores stays ignored`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            signal(SIGINT, SIG_IGN)
            let command = Command("work", summary: "") { _ in
                kill(getpid(), SIGINT)
                kill(getpid(), SIGINT)
                if Interruption.isRequested { throw CommandError.interrupted }
                return .done
            }
            let program = Program("p", version: "1", summary: "", commands: [command])
            program.main(arguments: ["work"])
        }
    }

    @Test func `a closed pipe on standard output leaves the command its status`() async {
        await #expect(processExitsWith: .exitCode(4)) {
            let ends = try System.makePipe()
            try System.close(ends.source)
            dup2(ends.target, 1)
            run { call in
                for number in 0..<100_000 { call.output.print("\(number)") }
                return call.output.isClosed ? .problemsLeft : .failed
            }
        }
    }

    @Test func `results are not written into a file that took the place of standard output`() async
    {
        await #expect(processExitsWith: .exitCode(1)) {
            close(1)
            run { call in
                expect(open("/dev/null", O_RDWR) > 2)
                call.output.print("a result")
                return .done
            }
        }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// Runs a program with one command in this process, and ends the process.
///
/// Signals are as a shell sets them: whoever runs the tests may ignore some.
private func run(_ work: @escaping @Sendable (Invocation) throws -> Console.ExitStatus) {
    for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    let command = Command("work", summary: "works", run: work)
    let program = Program("p", version: "1", summary: "works", commands: [command])
    program.main(arguments: ["work"])
}

/// Sends a signal to this process and waits until some thread has taken it.
private func send(_ number: Int32) throws {
    kill(getpid(), number)
    let descriptor = try require(Interruption.wakeDescriptor)
    try expect(System.waitUntilReadable([descriptor]), equals: [descriptor])
}
