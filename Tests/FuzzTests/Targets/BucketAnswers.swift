import Storage

@testable import S3

// What a store of buckets answers, and the files that say how to reach it.

extension FuzzTarget {
    static let bucketAnswers = FuzzTarget(
        name: "bucketAnswers",
        words: [
            "<", ">", "</", "/>", "<?xml version=\"1.0\"?>", "<Error>", "</Error>", "<Code>",
            "<Contents>",
            "</Contents>", "<Key>", "</Key>", "<Size>", "<IsTruncated>true</IsTruncated>",
            "<NextContinuationToken>", "<EncodingType>url</EncodingType>", "<![CDATA[", "<!--",
            "-->", "<!DOCTYPE", "&lt;", "&#x41;", "&#0;", "&#1114112;", "%2F", "%zz",
            "2026-11-24T16:00:00.000Z",
            "[profile x]\n", " = ", "\n  ",
        ]
    ) { input in
        try listing(input)
        try refusal(input)
        // Whatever they say is given on as it is; that they end is what is tested.
        let deletion = try? DeleteAnswer(input)
        try hold((deletion?.errors.count ?? 0) * 15 <= input.count, "more errors than bytes")
        if let upload = try? PartsAnswer.upload(input) {
            try hold(!upload.isEmpty, "an upload without a name")
        }
        let profiles = ProfileFile(String(decoding: input, as: UTF8.self))
        try hold(profiles["default", "region"] != "", "a setting that is empty")
        _ = AnswerTime.element(String(decoding: input, as: UTF8.self))
    }

    private static func listing(_ input: [UInt8]) throws {
        // Refused.
        guard let listing = try? ListAnswer(input) else { return }
        try hold(listing.files.count * 40 <= input.count, "more files than bytes")
        try hold(!listing.isTruncated || listing.token?.isEmpty == false, "no way to continue")
        for file in listing.files {
            try hold(!file.key.isEmpty && file.byteCount >= 0, "the file \(file)")
            try hold(file.key.utf8.count <= 3 * input.count, "a key that has grown")
        }
    }

    private static func refusal(_ input: [UInt8]) throws {
        let answer = ErrorAnswer(input)
        try hold(
            answer.code.utf8.count + answer.message.utf8.count <= input.count,
            "more said than there was")
        // What is sent is read as it was meant.
        let text = answer.code.filter { $0 != "\r" }
        let document = Array("<Error><Code>\(xmlEscaped(text))</Code></Error>".utf8)
        try hold(ErrorAnswer(document).code == text, "a text that is not read as it was written")
    }
}
