import StrictJSON

/// The answer to an update check, in either of its two spellings.
struct CodePushAnswer {
    var downloadURL = ""
    var description = ""
    var isAvailable = false
    /// The version of the client's app or, if nothing is available, the range that another app must be in.
    var range = ""
    var isMandatory = false
    var packageHash = ""
    var label = ""
    var packageSize: Int64 = 0
    var runsBinary = false
    var asksForNewerApp = false

    enum Spelling {
        /// `update_info`, below `/v0.1/public/codepush/`.
        case snake
        /// `updateInfo`, at `/updateCheck`: clients from before 2019.
        case camel
    }

    func clientAnswer(_ spelling: Spelling) -> ClientAnswer {
        func name(_ snake: String, _ camel: String) -> String {
            spelling == .snake ? snake : camel
        }
        return .json { writer in
            writer.member(name("update_info", "updateInfo")) { writer in
                writer.member(name("download_url", "downloadURL"), downloadURL)
                writer.member("description", description)
                writer.member(name("is_available", "isAvailable"), isAvailable)
                writer.member(name("is_disabled", "isDisabled"), false)
                writer.member(name("target_binary_range", "appVersion"), range)
                writer.member(name("is_mandatory", "isMandatory"), isMandatory)
                writer.member(name("package_hash", "packageHash"), packageHash)
                writer.member("label", label)
                writer.member(name("package_size", "packageSize"), packageSize)
                writer.member(
                    name("should_run_binary_version", "shouldRunBinaryVersion"), runsBinary)
                writer.member(name("update_app_version", "updateAppVersion"), asksForNewerApp)
            }
        }
    }
}
