// Where the tests' program starts.
import Testing

@main
struct TestProgram {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
