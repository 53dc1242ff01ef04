internal import CASStore
package import Console
internal import StrictJSON
internal import VersionTree

/// The result of a check, and how it was asked for.
struct CheckOutcome {
    var report: CheckReport
    var options: CheckOptions
    /// What a repair meant to do; nil for a check that changes nothing.
    var plan: RepairPlan?
    var isRepairing: Bool
    var isDryRun: Bool
    /// Whether a repair would mend anything of what a check alone has found.
    var isRepairable = true
    /// Whether the disk of the store is mounted read-only, so that no repair can write.
    var isReadOnly = false
}

extension Finding {
    /// Where to look, unless the message says so itself.
    fileprivate var place: String {
        guard let path, !message.contains(path) else { return "" }
        return "\(path): "
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind.rawValue)
        writer.member("object", object?.description)
        writer.member("version", version)
        writer.member("path", path)
        writer.member("message", message)
        writer.member("repaired", isRepaired)
    }
}

extension JSONWriter {
    /// Writes the member `plan`.
    fileprivate mutating func member(_ plan: RepairPlan) {
        member("plan", plan.steps) { writer, step in
            writer.member("action", step.operation.rawValue)
            writer.member("object", step.object?.description)
            writer.member("version", step.version)
            writer.member("path", step.path)
        }
    }
}

extension CheckOutcome {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("checkedObjects", report.checkedObjects)
        writer.member("checkedBytes", report.checkedBytes)
        writer.member("checkedTrees", report.checkedTrees)
        writer.member("skippedObjects", report.skippedObjects)
        writer.member("skippedBytes", report.skippedBytes)
        writer.member("sample", orNull: options.sample) { writer, sample in
            writer.key("percent")
            writer.value(.number("\(sample.share * 100)"))
            writer.member("seed", sample.seed)
        }
        writer.member("since", options.since.map(timestamp))
        if let plan { writer.member(plan) } else { writer.member("plan", String?.none) }
        writer.member("dryRun", isDryRun)
        writer.member("findings", report.findings) { $1.writeMembers(to: &$0) }
        writer.member("problems", report.problems.count)
    }
}

// MARK: As it happens

extension Invocation {
    /// Prints a finding at once, as a line of JSON.
    func stream(_ finding: Finding) {
        line { writer in writer.member("finding") { finding.writeMembers(to: &$0) } }
    }

    /// Says what a repair will do, before it does it.
    func show(_ plan: RepairPlan, isDryRun: Bool) {
        if flag("json-lines") {
            line { $0.member(plan) }
        } else if !isJSON {
            print(plan, isDryRun: isDryRun)
        }
    }

    private func print(_ plan: RepairPlan, isDryRun: Bool) {
        guard !plan.steps.isEmpty || !plan.fetches.isEmpty else { return }
        output.print(isDryRun ? "A repair would:" : "The repair will:")
        for step in plan.steps { output.print("  \(step.sentence)") }
        if !plan.fetches.isEmpty {
            let bytes = plan.fetches.reduce(Int64(0)) { $0.addingClamped($1.byteCount) }
            output.print(
                "  fetch \(counted(plan.fetches.count, "object")) in all, \(sizes.text(bytes))")
        }
        // A failure is kept, and reported when the program flushes at its end.
        try? output.flush()
    }

}

// MARK: In the end

extension Invocation {
    /// Prints what a check has found.
    func report(_ outcome: CheckOutcome) throws {
        if flag("json-lines") {
            return line { writer in writer.member("report") { outcome.writeMembers(to: &$0) } }
        }
        try self.report { writer in
            outcome.writeMembers(to: &writer)
        } text: { output in
            print(outcome, to: output)
        }
    }

    private func print(_ outcome: CheckOutcome, to output: Output) {
        let report = outcome.report
        let problems = report.problems
        // The plan has already listed them, with what is to be done.
        for finding in problems where !outcome.isDryRun {
            let style: DisplayText.Style = finding.isRepaired ? .yellow : .red
            let suffix: DisplayText =
                finding.isLost ? " (noted: lost)" : finding.isRepaired ? " (repaired)" : ""
            output.print(
                "\(finding.kind.rawValue, style): \(finding.place)\(finding.message)\(suffix)")
        }
        let objects = counted(report.checkedObjects, "object")
        let trees = counted(report.checkedTrees, "tree")
        let size = sizes.text(report.checkedBytes)
        output.print("Checked \(objects) (\(size)) and \(trees): \(verdict(on: problems)).")
        if report.skippedObjects > 0 || outcome.options.sample != nil {
            output.print("\(share(of: outcome))")
        }
        if outcome.isDryRun {
            output.print("Nothing was changed.")
        } else if let advice = advice(on: problems, outcome) {
            output.print("\(advice)")
        }
    }

    /// Which share of the store was read.
    private func share(of outcome: CheckOutcome) -> String {
        let report = outcome.report
        let objects = report.checkedObjects + report.skippedObjects
        let bytes = report.checkedBytes + report.skippedBytes
        var text =
            "These are \(percentage(report.checkedObjects, of: objects)) of the objects and "
            + "\(percentage(report.checkedBytes, of: bytes)) of their bytes"
        if let sample = outcome.options.sample {
            text += ", chosen by --seed \(sample.seed)"
        }
        return text + "; of the others only name, size and mode were checked."
    }

    private func percentage(_ part: some BinaryInteger, of whole: some BinaryInteger) -> String {
        guard whole > 0 else { return "100 %" }
        let perMille = Int((Double(part) / Double(whole) * 1000).rounded())
        return "\(perMille / 10).\(perMille % 10) %"
    }

    private func verdict(on findings: [Finding]) -> DisplayText {
        let left = findings.count { !$0.isRepaired }
        if left == 0, findings.contains(where: \.isLost) {
            return "\(counted(findings.count, "problem")), all repaired or noted as lost"
        }
        return verdict(problemCount: findings.count, leftCount: left)
    }

    /// What a check has found, in a few words.
    package func verdict(problemCount: Int, leftCount: Int) -> DisplayText {
        let count = counted(problemCount, "problem")
        if problemCount == 0 { return "\("no problems", .green)" }
        if leftCount == 0 { return "\(count), all repaired" }
        return leftCount == problemCount
            ? "\(count, .red)" : "\(count), \("\(groupedCount(leftCount)) left", .red)"
    }

    /// What to do next; nil if nothing is to be done.
    private func advice(on findings: [Finding], _ outcome: CheckOutcome) -> String? {
        guard findings.contains(where: { !$0.isRepaired }) else { return nil }
        let repair =
            command.name == "fsck"
            ? "\(program.name) fsck --repair" : "\(program.name) repair \(argument("STORE"))"
        if outcome.isReadOnly {
            return "The store is mounted read-only: mount it writable, then run '\(repair)'."
        }
        if outcome.isRepairing {
            return "The rest needs a person: each line above says where to look."
        }
        guard outcome.isRepairable else {
            return "This needs a person, or the content: each line above says where to look."
        }
        return "'\(repair)' repairs what can be repaired without guessing."
    }
}
