import Expectations
import Platform

@Suite struct PipeTests {
    // pipe2(2): O_CLOEXEC leaves no moment in which another thread's child could inherit an end.
    @Test func `what goes in comes out, and no program inherits an end`() throws {
        let ends = try require(openPipe())
        defer { for end in [ends.source, ends.target] { close(end) } }
        for end in [ends.source, ends.target] {
            expect(fcntl(end, F_GETFD) & FD_CLOEXEC, equals: FD_CLOEXEC)
        }
        var byte: UInt8 = 7
        expect(write(ends.target, &byte, 1), equals: 1)
        byte = 0
        expect(read(ends.source, &byte, 1) == 1 && byte == 7)
    }
}
