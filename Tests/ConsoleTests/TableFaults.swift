@testable import Console

extension Program {
    /// What is wrong with the table itself.
    var faults: [String] {
        var faults = duplicates(in: commands.map(\.name)).map { "command '\($0)' stands twice" }
        if let defaultCommand, command(named: defaultCommand) == nil {
            faults.append("the default command '\(defaultCommand)' is not in the table")
        }
        for command in commands {
            faults += command.faults(with: options).map { "\(command.name): \($0)" }
        }
        return faults
    }
}

extension Command {
    fileprivate func faults(with globals: [Option]) -> [String] {
        let all = options + globals
        var faults = duplicates(in: all.map(\.name) + ["help"]).map { "--\($0) stands twice" }
        for option in all {
            if let fallback = option.fallback, let objection = option.objection(to: fallback) {
                faults.append("the fallback of --\(option.name) \(objection)")
            }
            if !option.takesValue && (option.environment != nil || option.isRequired) {
                faults.append("the flag --\(option.name) cannot be required or have a variable")
            }
        }
        faults += duplicates(in: arguments.map(\.name)).map { "argument \($0) stands twice" }
        for (argument, next) in zip(arguments, arguments.dropFirst()) {
            let isGap = argument.arity == .optional && (next.arity == .one || next.arity == .some)
            if argument.arity.isOpen || isGap {
                faults.append("\(next.name) cannot stand after \(argument.name)")
            }
        }
        return faults
    }
}

private func duplicates(in names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }
}
