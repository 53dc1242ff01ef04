import Foundation

/// The target that `CASTREE_FUZZ_TARGET` names.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["CASTREE_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        preconditionFailure("CASTREE_FUZZ_TARGET is none of \(FuzzTarget.all.map(\.name))")
    }
    return target
}()

/// Called by libFuzzer with each input (llvm.org/docs/LibFuzzer.html).
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try target.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        preconditionFailure("\(target.name): \(error)")
    }
    return 0
}

/// Prints the words of the target as a dictionary, if that is all that is asked for.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeMutablePointer<CInt>?, _: UnsafeMutableRawPointer?) -> CInt {
    if ProcessInfo.processInfo.environment["CASTREE_FUZZ_WORDS"] != nil {
        for word in target.words {
            let escaped = word.utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "\\x" + (digits.count < 2 ? "0" : "") + digits
            }
            print("\"\(escaped.joined())\"")
        }
        exit(0)
    }
    return 0
}
