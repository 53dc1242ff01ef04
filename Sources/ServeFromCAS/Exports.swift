// Programs that serve an app also name its routes and its certificate.
@_exported public import WebServer
