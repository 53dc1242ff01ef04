/// "; did you mean 'x'?" for the nearest candidate, or nothing if none is near.
func suggestion(for word: String, among candidates: [String], prefix: String = "") -> String {
    guard let nearest = nearest(to: word, among: candidates) else { return "" }
    return "; did you mean '\(prefix)\(nearest)'?"
}

/// The candidate that the word was probably meant to be, or nil.
///
/// Case is ignored. If only one candidate begins with the word, it is that one; otherwise up to a third of the
/// letters may be wrong. The first of several equally near candidates wins.
func nearest(to word: String, among candidates: [String]) -> String? {
    // No name in a table is this long, and the distance costs the product of the lengths.
    guard !word.isEmpty, word.utf8.count <= 64 else { return nil }
    let word = word.lowercased()
    let completions = candidates.filter { $0.utf8.starts(with: word.utf8) }
    if completions.count == 1 { return completions.first }
    let distances = candidates.map { ($0, editDistance(word, $0)) }
    guard let best = distances.min(by: { $0.1 < $1.1 }) else { return nil }
    let length = min(word.utf8.count, best.0.utf8.count)
    return best.1 <= max(1, length / 3) && best.1 < length ? best.0 : nil
}

/// The optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours count 1.
func editDistance(_ first: String, _ second: String) -> Int {
    let first = Array(first.unicodeScalars)
    let second = Array(second.unicodeScalars)
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in first.indices {
        var current = [row + 1]
        for column in second.indices {
            let isSame = first[row] == second[column]
            var cost = min(
                last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
            if row > 0, column > 0, first[row] == second[column - 1],
                first[row - 1] == second[column]
            {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        (beforeLast, last) = (last, current)
    }
    return last[second.count]
}

/// Words as a sentence lists them: "link, reflink or copy".
func alternatives(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
}
