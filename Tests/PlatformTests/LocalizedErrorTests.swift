import Expectations
import LocalizedErrors
import Platform

// Foundation, NSError: what has no description of its own is "The operation could not be completed".
@Suite struct LocalizedErrorTests {
    @Test func `an app that shows localizedDescription shows the sentence`() {
        let error: any Error = StoreError(
            .outOfSpace, "the disk is full; free 3 MB",
            cause: .systemCall("write", errno: ENOSPC, path: "a"))
        expect(error.localizedDescription, equals: "\(error)")
        expect(error.localizedDescription.contains("the disk is full; free 3 MB"))
    }
}
