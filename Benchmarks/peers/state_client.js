// The smallest client of a bridge in Node: asks for the session's state, prints the answer and ends.
const socket = require("node:net").connect(process.argv[2]);
let text = "";
socket.setEncoding("utf8");
socket.on("data", (chunk) => {
  text += chunk;
  const answer = text.split("\n").find((line) => line.includes('"type":"response"'));
  if (answer === undefined || !text.endsWith("\n")) return;
  console.log(JSON.stringify(JSON.parse(answer), null, 2));
  socket.end();
});
socket.write('{"id":"1","type":"get_state"}\n');
