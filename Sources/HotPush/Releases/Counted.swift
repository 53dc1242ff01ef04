/// A count and its noun, as sentences say it: "1 object", "12 objects".
func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}
