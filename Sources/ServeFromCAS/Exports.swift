// Whoever serves an app also names its routes and its certificate.
@_exported public import WebServer
