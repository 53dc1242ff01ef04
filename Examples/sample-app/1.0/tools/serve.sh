#!/bin/sh
# Serves the app to this computer: tools/serve.sh [PORT]
cd "$(dirname "$0")/.." && exec python3 -m http.server --bind 127.0.0.1 "${1:-8000}"
