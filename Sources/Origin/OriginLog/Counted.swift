/// A count and its noun: "1 object", "12 objects".
func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}
