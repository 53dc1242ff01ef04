package import Console

extension Invocation {
    /// Refuses options that mean nothing here.
    /// - Parameter why: follows the option's name in the sentence.
    /// - Throws: `usage` if one of them was given.
    package func refuse(_ options: [Option], _ why: String) throws(CommandError) {
        guard let option = options.first(where: { isGiven($0.name) }) else { return }
        throw .usage("--\(option.name) \(why)")
    }
}
