import Expectations
import Foundation
import ProgramTestSupport
import Testing

extension Workplace {
    /// A place with the versions 1 and 2, of which the origin `site` offers the first.
    static func offeringFirst() throws -> Workplace {
        let place = Workplace()
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try place.publish("1")
        return place
    }

    /// Offers a version in `site`.
    func publish(_ arguments: String...) throws {
        let answer = try run(
            .castree, ["publish"] + arguments + ["site", "--no-sync", "--no-packs"])
        expect(answer.status, equals: 0, "\(answer)")
    }

    /// Takes a version back.
    func withdraw(_ version: String) throws {
        let answer = try castree("withdraw", version, "site", "--no-sync")
        expect(answer.status, equals: 0, "\(answer)")
    }

    /// Runs castree on the store of the device that is served from `site`.
    @discardableResult
    func device(_ arguments: String...) throws -> Finished {
        try run(.castree, ["--store", "device"] + arguments)
    }

    /// Where things stand on that device.
    func deviceLifecycle() throws -> LifecycleDocument {
        try device("lifecycle", "--json").document()
    }

    /// Lets the device reject what it is offered: shows it, goes back and bans it.
    func reject(_ version: String) throws {
        try expect(device("activate", version).status, equals: 0)
        try expect(device("rollback").status, equals: 0)
    }

    /// `site` behind a web server.
    func origin() throws -> WebOrigin { try WebOrigin(directory.appending(path: "site")) }
}
