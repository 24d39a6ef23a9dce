#!/bin/bash
# The same messenger in shell: lines written into the FIFO `inbox` are messages, answers are appended to `outbox`.
# Needs jq. Configuration: {"inbox": PATH, "outbox": PATH}.
[ -n "$PI_RELAY_PLUGIN" ] || { echo "This is a plugin of pi-relay; try: pi-relayd plugins check $0" >&2; exit 1; }

reply() { # ID RESULT
  jq -cn --argjson id "$1" --argjson result "$2" '{jsonrpc: "2.0", id: $id, result: $result}'
}

fail() { # ID CODE TEXT [DATA]
  jq -cn --argjson id "$1" --argjson code "$2" --arg text "$3" --argjson data "${4:-null}" \
    '{jsonrpc: "2.0", id: $id, error: {code: $code, message: $text, data: $data}}'
}

# Runs beside the main loop. A line is one write of less than 4 KiB, so the two never mix; longer messages are cut.
read_inbox() {
  [ -p "$inbox" ] || mkfifo -m 600 "$inbox"
  number=0
  while true; do
    while IFS= read -r line; do
      number=$((number + 1))
      # The state is not needed: what was written into a FIFO cannot be read a second time.
      jq -cn --argjson id "$number" --arg key "$$-$number" --arg text "${line:0:3000}" '{jsonrpc: "2.0", id: $id,
        method: "message.received", params: {id: $key, text: $text,
        conversation: {id: "file", kind: "dm"}, sender: {id: "writer", name: "writer"}}}'
    done <"$inbox"
  done
}

while IFS= read -r line; do
  method=$(jq -r '.method // empty' <<<"$line") || continue
  [ -n "$method" ] || continue # an answer to a message of ours: it is stored
  id=$(jq -c '.id // empty' <<<"$line")
  [ -n "$id" ] || continue # a notification, which nobody answers
  case "$method" in
    initialize)
      inbox=$(jq -r '.params.config.inbox // empty' <<<"$line")
      outbox=$(jq -r '.params.config.outbox // empty' <<<"$line")
      if [ -z "$inbox" ] || [ -z "$outbox" ]; then
        fail "$id" -32002 "configuration" '[{"path": "inbox", "message": "and outbox are needed"}]'
        continue
      fi
      read_inbox &
      reply "$id" '{"protocolVersion": 1, "name": "file-messenger", "version": "1", "kinds": ["messenger"],
        "capabilities": {"maximumTextLength": 2000, "lengthUnit": "scalars", "dialect": "plain"}}'
      ;;
    message.send)
      jq -r '.params.text' <<<"$line" >>"$outbox"
      reply "$id" "$(jq -c '{message: .params.key}' <<<"$line")"
      ;;
    ping | shutdown) reply "$id" '{}' ;;
    *) fail "$id" -32601 "there is no method $method" ;;
  esac
done
kill $(jobs -p) 2>/dev/null
