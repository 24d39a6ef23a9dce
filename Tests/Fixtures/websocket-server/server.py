"""Two servers on loopback for the tests of our WebSocket: one by PyPI's websockets, written by others, and one that writes
raw bytes, for what no decent server sends. Prints both ports; each path is a behaviour. Ends with its standard input."""
import asyncio
import base64
import hashlib
import struct
import sys

from websockets.asyncio.server import serve


async def decent(connection):
    name, _, value = connection.request.path.strip("/").partition("=")
    if name == "echo":
        async for message in connection:
            await connection.send(message)
    elif name == "large":
        await connection.send(b"x" * int(value))
        await connection.wait_closed()
    elif name == "many":
        for number in range(int(value)):
            await connection.send(f"message {number} " + "." * 1000)
        await connection.wait_closed()
    elif name == "fragments":
        # Pings go between the parts by themselves when we ask for them.
        async def parts():
            for part in ("one ", "two ", "three"):
                yield part
                await (await connection.ping())
        await connection.send(parts())
        await connection.wait_closed()
    elif name == "close":
        await connection.close(int(value), "goodbye")
    elif name == "header":
        await connection.send(connection.request.headers.get("X-Test", "none"))
        await connection.wait_closed()


def frame(first, payload, mask=False):
    length = len(payload)
    head = bytes([first])
    if length < 126:
        head += bytes([length | (128 if mask else 0)])
    else:
        head += bytes([126 | (128 if mask else 0)]) + struct.pack(">H", length)
    return head + (b"\0\0\0\0" if mask else b"") + payload


RAW = {
    "/invalid-utf8": frame(0x81, b"\xff\xfe"),
    "/masked": frame(0x81, b"hello", mask=True),
    "/reserved-bit": frame(0xC1, b"hello"),
    "/reserved-opcode": frame(0x83, b"hello"),
    "/long-ping": frame(0x89, b"x" * 126),
    "/fragmented-ping": frame(0x09, b"x"),
    "/lone-continuation": frame(0x80, b"x"),
    "/new-message-within": frame(0x01, b"a") + frame(0x81, b"b"),
    "/bad-close-code": frame(0x88, struct.pack(">H", 1005)),
    "/one-byte-close": frame(0x88, b"\x03"),
    "/half-frame-then-gone": frame(0x81, b"hello world")[:6],
    "/whole-then-gone": frame(0x81, b"hello"),
    "/byte-by-byte": frame(0x01, b"h\xc3") + frame(0x89, b"") + frame(0x80, b"\xa9!") + frame(0x88, struct.pack(">H", 4000) + b"done"),
    "/wrong-accept": b"",
    "/not-found": b"",
    "/endless-header": b"",
    "/silence": b"",
}


def answers(data):
    """The frames of a client: pongs with what they bear, and the code of its close, 0 where it gives none."""
    pongs, code = [], None
    while len(data) >= 2 and code is None:
        length, start = data[1] & 127, 6
        if length == 126:
            length, start = struct.unpack(">H", data[2:4])[0], 8
        if len(data) < start + length:
            break
        mask, payload = data[start - 4:start], data[start:start + length]
        plain = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        if data[0] == 0x8A:
            pongs.append(plain.hex())
        elif data[0] == 0x88:
            code = struct.unpack(">H", plain[:2])[0] if len(plain) >= 2 else 0
        data = data[start + length:]
    return pongs, code


async def case(name, frames, pings, last, reader, writer):
    """Says what the client answers to these bytes, until it hangs up; the last of them are sent when the pongs are there."""
    writer.write(frames)
    data = b""
    try:
        await writer.drain()
        while len(answers(data)[0]) < pings and (more := await reader.read(1000)):
            data += more
        writer.write(last)
        await writer.drain()
        while more := await reader.read(1000):
            data += more
            if answers(data)[1] is not None:
                break
    except ConnectionError:
        pass
    pongs, code = answers(data)
    print("answered", name, "none" if code is None else code, ",".join(pongs) or "-", flush=True)
    writer.close()


async def raw(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    path = head.split()[1]
    key = next(line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key"))
    accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    if path == "/wrong-accept":
        accept = accept[::-1]
    if path == "/silence":
        await reader.read()
        return
    if path == "/not-found":
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    elif path == "/endless-header":
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"x" * 100_000)
    else:
        path, _, frames = path.partition("?")
        answer = (f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode()
        if path.startswith("/case/"):
            first, pings, last = frames.split("&")
            return await case(
                path[6:], answer + bytes.fromhex(first), int(pings), bytes.fromhex(last), reader, writer)
        # The first frame in the same write as the handshake, unless it comes in drops.
        if path == "/byte-by-byte":
            for byte in answer + RAW[path]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
        else:
            writer.write(answer + RAW[path])
    await writer.drain()
    if path.endswith("gone"):
        writer.close()
        return
    # What we are told of it: the close code of the client, on standard output.
    try:
        data = b""
        while len(data) < 8 and (more := await reader.read(1000)):
            data += more
        code = b"\0\0"
        if data and data[0] == 0x88 and data[1] & 127 >= 2:
            code = bytes(c ^ data[2 + i] for i, c in enumerate(data[6:8]))
        print("closed", path, struct.unpack(">H", code)[0], flush=True)
    except ConnectionError as error:
        print("closed", path, -1, error, flush=True)
    writer.close()


async def main():
    async with serve(decent, "127.0.0.1", 0, max_size=None, compression=None) as first:
        second = await asyncio.start_server(raw, "127.0.0.1", 0)
        print("ports", first.sockets[0].getsockname()[1], second.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
