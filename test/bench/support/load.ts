import { connect } from 'node:net';

/*
 * A minimal HTTP client: `node load.ts <url> <connections> <seconds>` repeats a request over this many connections and
 * prints `{requests, bytes, seconds}`. It implements only what it needs of HTTP/1.1 (keep-alive, Content-Length), on plain
 * sockets with one buffer each, so that it uses little processor time compared with the server.
 */

const [address = '', connections = '1', seconds = '1'] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(address);
const REQUEST = Buffer.from(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
const HEADER_END = '\r\n\r\n';

let requests = 0;
let bytes = 0;
let open = 0;
const started = performance.now();
const ends = started + Number(seconds) * 1000;

function run(): void {
  /** The remaining bytes of the current response; undefined while its header is read. */
  let left: number | undefined;
  let header = '';
  const take = (chunk: Buffer): void => {
    if (left === undefined) {
      header += chunk.toString('latin1');
      const end = header.indexOf(HEADER_END);
      if (end < 0) return;
      if (!header.startsWith('HTTP/1.1 200')) throw new Error(`The answer was ${header.slice(0, end)}`);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(header)?.[1]);
      left = length - (header.length - end - HEADER_END.length);
      bytes += length;
      header = '';
    } else {
      left -= chunk.length;
    }
    if (left > 0) return;
    left = undefined;
    requests += 1;
    if (performance.now() < ends) socket.write(REQUEST);
    else socket.end();
  };
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer: Buffer.alloc(262_144),
      callback: (length, buffer) => {
        take((buffer as Buffer).subarray(0, length));
        return true;
      },
    },
  });
  open += 1;
  socket.on('connect', () => socket.write(REQUEST));
  socket.on('close', () => {
    open -= 1;
    if (open > 0) return;
    console.log(JSON.stringify({ requests, bytes, seconds: (performance.now() - started) / 1000 }));
  });
}

for (let connection = 0; connection < Number(connections); connection += 1) run();
