internal import CASStore
internal import VersionTree

extension Finding {
    /// Where to look, unless the message says so itself.
    fileprivate var place: String {
        guard let path, !message.contains(path) else { return "" }
        return "\(path): "
    }
}

extension Invocation {
    /// Prints what a check has found.
    func report(_ report: CheckReport, isRepairing: Bool) throws {
        try self.report { writer in
            writer.object { writer in
                writer.member("checkedObjects", report.checkedObjects)
                writer.member("checkedBytes", report.checkedBytes)
                writer.member("checkedTrees", report.checkedTrees)
                writer.member("findings", report.findings) { writer, finding in
                    writer.object { writer in
                        writer.member("kind", finding.kind.rawValue)
                        writer.member("object", finding.object?.description)
                        writer.member("version", finding.version)
                        writer.member("path", finding.path)
                        writer.member("message", finding.message)
                        writer.member("repaired", finding.isRepaired)
                    }
                }
            }
        } text: { output in
            print(report, isRepairing: isRepairing, to: output)
        }
    }

    private func print(_ report: CheckReport, isRepairing: Bool, to output: Output) {
        for finding in report.findings {
            let style: DisplayText.Style = finding.isRepaired ? .yellow : .red
            let suffix: DisplayText = finding.isRepaired ? " (repaired)" : ""
            output.print(
                "\(finding.kind.rawValue, style): \(finding.place)\(finding.message)\(suffix)")
        }
        let objects = counted(report.checkedObjects, "object")
        let trees = counted(report.checkedTrees, "tree")
        let size = sizes.text(report.checkedBytes)
        output.print("Checked \(objects) (\(size)) and \(trees): \(verdict(on: report.findings)).")
        if let advice = advice(on: report.findings, isRepairing: isRepairing) {
            output.print("\(advice)")
        }
    }

    private func verdict(on findings: [Finding]) -> DisplayText {
        let left = findings.count { !$0.isRepaired }
        let count = counted(findings.count, "problem")
        if findings.isEmpty { return "\("no problems", .green)" }
        if left == 0 { return "\(count), all repaired" }
        return left == findings.count
            ? "\(count, .red)" : "\(count), \("\(groupedCount(left)) left", .red)"
    }

    /// What to do next; nil if nothing is to be done.
    private func advice(on findings: [Finding], isRepairing: Bool) -> String? {
        guard findings.contains(where: { !$0.isRepaired }) else { return nil }
        if isRepairing {
            return "What is left needs a person: each line above says where to look."
        }
        let repair =
            command.name == "fsck"
            ? "\(program.name) fsck --repair" : "\(program.name) repair \(argument("STORE"))"
        return "'\(repair)' repairs what can be repaired without guessing."
    }
}
