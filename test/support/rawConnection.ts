import { connect, type Socket } from 'node:net';

/** Sends a request as it is written; nothing of the answer is read until somebody reads the socket. */
export function sendRaw(url: string, text: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
  socket.pause();
  socket.write(text);
  return socket;
}

/** Asks for a path and reads nothing of the answer. */
export function requestAndStall(url: string, path: string): Socket {
  return sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
}

/** All that comes until the connection ends, however it does. */
export function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A connection that is cut is reset where bytes were under way.
  socket.on('error', () => {});
  socket.resume();
  return new Promise((resolve) => socket.on('close', () => resolve(Buffer.concat(chunks))));
}
