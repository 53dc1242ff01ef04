// Whoever serves an app names its routes and its certificate, too.
@_exported public import WebServer
