import { connect, type Socket } from 'node:net';

/** Sends a request literally. The response is not read until the caller reads the socket. */
export function sendRaw(url: string, text: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
  socket.pause();
  socket.write(text);
  return socket;
}

/** Sends a GET request and does not read the response. */
export function requestAndStall(url: string, path: string): Socket {
  return sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
}

/** Reads everything until the connection is closed or reset. */
export function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // Closing a connection with unread bytes resets it.
  socket.on('error', () => {});
  socket.resume();
  return new Promise((resolve) => socket.on('close', () => resolve(Buffer.concat(chunks))));
}
