/// Text in aligned columns.
///
///     var table = TextTable([.left("VERSION"), .right("SIZE")])
///     table.add(["\(version.name)", "\(sizes.text(version.byteCount))"])
///     table.print(to: output)
package struct TextTable: Sendable {
    package struct Column: Sendable {
        let heading: String
        let isRight: Bool

        package static func left(_ heading: String) -> Column {
            Column(heading: heading, isRight: false)
        }

        package static func right(_ heading: String) -> Column {
            Column(heading: heading, isRight: true)
        }
    }

    private let columns: [Column]
    private var rows: [[DisplayText]] = []

    /// If every heading is empty, there is no line of headings.
    package init(_ columns: [Column], rows: [[DisplayText]] = []) {
        self.columns = columns
        for row in rows { add(row) }
    }

    /// - Parameter cells: one for every column.
    package mutating func add(_ cells: [DisplayText]) {
        precondition(cells.count == columns.count, "a row has a cell for every column")
        rows.append(cells)
    }

    /// The lines of the table, headings first; nothing if there is no row.
    package var lines: [DisplayText] {
        guard !rows.isEmpty else { return [] }
        let hasHeadings = columns.contains { !$0.heading.isEmpty }
        let headings = columns.map { DisplayText(untrusted: $0.heading, .faint) }
        let all = (hasHeadings ? [headings] : []) + rows
        let widths = columns.indices.map { column in
            all.map { $0[column].columnCount }.max() ?? 0
        }
        return all.map { line(of: $0, widths: widths) }
    }

    package func print(to output: Output) {
        for line in lines { output.print(line) }
    }

    private func line(of cells: [DisplayText], widths: [Int]) -> DisplayText {
        var line: DisplayText = ""
        // Spaces are put before the next cell that is not empty, so that no line ends in them.
        var gap = 0
        for (column, cell) in cells.enumerated() {
            let padding = widths[column] - cell.columnCount
            if cell.columnCount > 0 {
                gap += columns[column].isRight ? padding : 0
                line = line + DisplayText(untrusted: String(repeating: " ", count: gap)) + cell
                gap = columns[column].isRight ? 0 : padding
            } else {
                gap += padding
            }
            gap += 2
        }
        return line
    }
}
