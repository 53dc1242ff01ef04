import StrictJSON

/// The answer to an update check, in either of its two spellings.
struct CodePushAnswer {
    var downloadURL = ""
    var description = ""
    var isAvailable = false
    /// The version of the client's app; if nothing is available, the range that another app must be in.
    var range = ""
    var isMandatory = false
    var packageHash = ""
    var label = ""
    var packageSize: Int64 = 0
    var runsBinary = false
    var asksForNewerApp = false

    /// How members are spelled.
    enum Spelling {
        /// `update_info`, below `/v0.1/public/codepush/`.
        case snake
        /// `updateInfo`, at `/updateCheck`: clients from before 2019.
        case camel
    }

    func clientAnswer(_ spelling: Spelling) -> ClientAnswer {
        switch spelling {
        case .snake:
            .json { writer in
                writer.member("update_info") { writer in
                    writer.member("download_url", downloadURL)
                    writer.member("description", description)
                    writer.member("is_available", isAvailable)
                    writer.member("is_disabled", false)
                    writer.member("target_binary_range", range)
                    writer.member("is_mandatory", isMandatory)
                    writer.member("package_hash", packageHash)
                    writer.member("label", label)
                    writer.member("package_size", packageSize)
                    writer.member("should_run_binary_version", runsBinary)
                    writer.member("update_app_version", asksForNewerApp)
                }
            }
        case .camel:
            .json { writer in
                writer.member("updateInfo") { writer in
                    writer.member("downloadURL", downloadURL)
                    writer.member("description", description)
                    writer.member("isAvailable", isAvailable)
                    writer.member("isDisabled", false)
                    writer.member("appVersion", range)
                    writer.member("isMandatory", isMandatory)
                    writer.member("packageHash", packageHash)
                    writer.member("label", label)
                    writer.member("packageSize", packageSize)
                    writer.member("shouldRunBinaryVersion", runsBinary)
                    writer.member("updateAppVersion", asksForNewerApp)
                }
            }
        }
    }
}
