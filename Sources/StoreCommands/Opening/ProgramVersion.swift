/// The version of castree, as `--version` and `castree report` print it.
package let castreeVersion = "0.1.0"
