#!/bin/sh
# What Miniflare runs in the place of workerd (scripts/start/runtime.mjs): workerd itself, with files for the two sockets
# that Miniflare has no such option for, and without its debugger. ISOLA_SOCKETS is a folder that nobody else may enter.
rm -f "$ISOLA_SOCKETS/entry" "$ISOLA_SOCKETS/worker:0"
for arg do
  shift
  case $arg in
    --socket-addr=entry=*) arg="--socket-addr=entry=unix:$ISOLA_SOCKETS/entry" ;;
    --external-addr=loopback=*) arg="--external-addr=loopback=unix:$ISOLA_SOCKETS/loopback" ;;
    --inspector-addr=* | --debug-port=*) continue ;;
  esac
  set -- "$@" "$arg"
done
exec "$ISOLA_WORKERD" "$@"
