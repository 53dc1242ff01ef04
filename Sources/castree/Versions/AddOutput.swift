import Console
import Platform
import StrictJSON
import VersionTree

extension Invocation {
    func report(_ added: AddReport, previous: String?) throws -> ExitStatus {
        note(added)
        return try report { writer in
            writer.member("version", added.version)
            writer.member("files", added.files)
            writer.member("bytes", added.bytes)
            writer.member("newObjects", added.newObjects)
            writer.member("newBytes", added.newBytes)
            writer.member("activated", flag("activate"))
            writer.key("twins")
            writer.array(added.collisions) { writer, collision in
                writer.array([collision.first, collision.second]) { $0.string($1) }
            }
            writer.member("healed", added.healed)
            writer.member("leftOut", added.leftOut)
            writer.member("unwanted", added.unwanted)
        } text: { output in
            let files = counted(added.files, "file")
            let objects = counted(added.newObjects, "new object")
            output.print(
                """
                Added version \(added.version): \(files), \(sizes.text(added.bytes)); \
                \(objects), \(sizes.text(added.newBytes)).
                """)
            if flag("activate") {
                output.print(sentence(onSwitchTo: added.version, from: previous))
            }
        }
    }

    private func note(_ added: AddReport) {
        let shownCount = 5
        for collision in added.collisions.prefix(shownCount) {
            note(
                "\"\(collision.first)\" and \"\(collision.second)\" would be one file on a file system that "
                    + "ignores case or Unicode form")
        }
        if added.collisions.count > shownCount {
            note("and \(counted(added.collisions.count - shownCount, "more such pair"))")
        }
        for version in added.healed {
            note("version \(version) was missing objects and is complete again")
        }
        note(leftOut: added.leftOut, unwanted: added.unwanted)
    }
}
