/// The value of If-Match or If-None-Match: `*`, or a list of entity tags (RFC 9110, 8.8.3 and 13.1).
package enum EntityTagList {
    /// How two tags are compared (RFC 9110, section 8.8.3.2).
    package enum Comparison {
        /// Both must be strong and the same.
        case strong
        /// The same, whether weak or not.
        case weak
    }

    /// Whether the list names `tag`, a strong tag with its quotes, or is `*`.
    ///
    /// A list with anything malformed in it names nothing: when in doubt, If-Match fails and If-None-Match gets the
    /// whole representation.
    package static func matches(_ list: FieldText, _ tag: [UInt8], _ comparison: Comparison) -> Bool
    {
        let list = list.trimmed()
        if list.count == 1, list.first == 42 { return true }
        // Nearly every conditional request looks like this.
        if list.isEqual(to: tag) { return true }
        var position = list.startIndex
        var isFound = false
        var isAwaitingComma = false
        while position < list.endIndex {
            switch list[position] {
            case 32, 9:
                position += 1
            case 44:
                isAwaitingComma = false
                position += 1
            default:
                if isAwaitingComma { return false }
                guard let end = endOfTag(list, from: position) else { return false }
                let isWeak = list[position] == 87
                let opaque = list[(isWeak ? position + 2 : position)..<end]
                if !isWeak || comparison == .weak, opaque.elementsEqual(tag) { isFound = true }
                isAwaitingComma = true
                position = end
            }
        }
        return isFound
    }

    static func isTag(_ text: FieldText) -> Bool {
        !text.isEmpty && endOfTag(text, from: text.startIndex) == text.endIndex
    }

    /// The end of the tag that begins at a position; `nil` if there is none.
    ///
    /// `entity-tag = [ "W/" ] DQUOTE *( %x21 / %x23-7E / obs-text ) DQUOTE`: commas may occur inside, and backslashes
    /// escape nothing.
    private static func endOfTag(_ list: FieldText, from start: Int) -> Int? {
        var position = start
        if list[position] == 87 {
            guard position + 1 < list.endIndex, list[position + 1] == 47 else { return nil }
            position += 2
        }
        guard position < list.endIndex, list[position] == 34 else { return nil }
        position += 1
        while position < list.endIndex {
            let byte = list[position]
            if byte == 34 { return position + 1 }
            guard byte == 0x21 || byte >= 0x23, byte != 0x7F else { return nil }
            position += 1
        }
        return nil
    }
}
