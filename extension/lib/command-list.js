/**
 * Words that each command takes first, with what they do.
 * @type {Record<string, Record<string, string>>}
 */
const words = {
  relay: {
    status: "how this session is connected",
    connect: "connect again; MESSENGER [NAME]: pair somebody with this session",
    disconnect: "take this session away from all chats and people",
    reconnect: "close the connection and make it anew",
    doctor: "look for problems",
    approvals: "the last decisions about tool calls",
    sessions: "the sessions of the daemon: [PAGE]",
    "send-file": "send a file to the chats that follow: PATH [CAPTION]",
    trusted: "the people who are paired with this session, and those who are trusted",
    untrust: "ask again before somebody's next pairing: MESSENGER USER-ID",
    restart: "stop pi-relayd and start it again",
    settings: "the settings, and where they come from",
  },
  pidash: {
    start: "start pi-relayd",
    stop: "stop pi-relayd",
    restart: "stop pi-relayd and start it again",
    status: "how this session is connected",
  },
};

/**
 * Completions of the first word after a command.
 * @param {string} command
 * @param {string} prefix
 * @returns {PiCompletion[] | null}
 */
export function completions(command, prefix) {
  const found = Object.entries(words[command] ?? {}).filter(([word]) => word.startsWith(prefix));
  return found.length === 0 ? null : found.map(([value, description]) => ({ value, label: value, description }));
}
