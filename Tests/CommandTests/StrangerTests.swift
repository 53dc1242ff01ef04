import Expectations
import Foundation
import StorageTestSupport
import Testing

/// Every path of DESIGN.md's *The store on disk*, with each thing that may stand there and is not castree's, under
/// every verb.
///
/// `make test` takes a part, `make test-all` and `make errors` all.
@Suite("A stranger in place of a path of a store") struct StrangerTests {
    @Test("lets every verb end, is named, is written through by none, and goes with a repair")
    func strangers() throws {
        let ground = try StrangerGround()
        let points = StrangerGround.paths.flatMap { path in
            StrangerGround.Kind.strangers.map { (path, $0) }
        }
        for (path, kind) in TestShare(oneIn: 120).of(points) {
            for problem in try ground.problems(of: kind, at: path) {
                Issue.record("\(path) | \(kind) | \(problem)")
            }
        }
    }

    @Test(
        "or what is closed to the store's owner, lets every verb end, is named, and is opened by a repair",
        .enabled(if: OtherUserTests.reason == nil, "needs root and setpriv(1), to be somebody else")
    )
    func closed() throws {
        let ground = try StrangerGround(user: 65534)
        for path in TestShare(oneIn: 30).of(StrangerGround.paths) {
            for problem in try ground.problems(of: .closed, at: path) {
                Issue.record("\(path) | closed | \(problem)")
            }
        }
    }
}
