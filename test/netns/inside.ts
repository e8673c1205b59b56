import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { readToEnd, sendRaw } from '../support/network/rawConnection.ts';

/** An instruction for the process inside a namespace. */
export type Instruction =
  | { listen: string; port: number }
  | { script: Record<string, { status?: number; headers?: Record<string, string>; body: string }> }
  | {
      ask: {
        id: number;
        url: string;
        init: { method: string; headers: Record<string, string>; body?: string };
      };
    }
  | { stall: { url: string; paths: string[] } }
  | { readStalled: true };

/** What was left of an answer that nobody had read: its head, and how its body ends. */
export interface LeftOver {
  path: string;
  head: string;
  bodyBytes: number;
  lastBytes: string;
}

/** What it says. */
export type Said =
  | { listening: string }
  | { seen: { address: string; host: string; path: string } }
  | { answered: { id: number; status: number; body: string } }
  | { failed: { id: number; error: string } }
  | { stalling: { ports: number[] } }
  | { leftOver: LeftOver[] };

/**
 * The web and the visitor of a network namespace: serves the given pages on the given addresses, reports who was asked
 * what, and asks the node that runs beside it, also without reading what it answers. The namespace is not reached from outside; this process is, by its parent.
 */
const pages = new Map<string, { status?: number; headers?: Record<string, string>; body: string }>();
const stalled: { path: string; socket: Socket }[] = [];

process.on('message', (instruction: Instruction) => {
  if ('listen' in instruction) listen(instruction.listen, instruction.port);
  else if ('script' in instruction)
    for (const [path, page] of Object.entries(instruction.script)) pages.set(path, page);
  else if ('ask' in instruction) void ask(instruction.ask);
  else if ('stall' in instruction) void stall(instruction.stall);
  else void readStalled();
});
process.on('disconnect', () => process.exit());

function say(said: Said): void {
  process.send?.(said);
}

function listen(address: string, port: number): void {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    say({ seen: { address, host: request.headers.host ?? '', path } });
    const { status = 200, headers = {}, body } = pages.get(path) ?? { status: 404, body: 'Not here.' };
    response.writeHead(status, { 'Content-Type': 'text/plain', ...headers }).end(body);
  });
  server.listen(port, address, () => say({ listening: address }));
}

async function ask({ id, url, init }: Extract<Instruction, { ask: unknown }>['ask']): Promise<void> {
  try {
    const answer = await fetch(url, init);
    say({ answered: { id, status: answer.status, body: await answer.text() } });
  } catch (error) {
    say({ failed: { id, error: String(error) } });
  }
}

/** Asks for each path on a connection of its own, and reads nothing. */
async function stall({ url, paths }: Extract<Instruction, { stall: unknown }>['stall']): Promise<void> {
  const opened = paths.map((path) => {
    // The last header has a stream of events begin with the first.
    const head = `GET ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\nLast-Event-ID: 0\r\n\r\n`;
    const socket = sendRaw(url, head);
    socket.on('error', () => {});
    return { path, socket };
  });
  stalled.push(...opened);
  await Promise.all(opened.map(({ socket }) => once(socket, 'connect')));
  say({ stalling: { ports: opened.map(({ socket }) => socket.localPort ?? 0) } });
}

/** Reads all that is left of what was asked for and not read. */
async function readStalled(): Promise<void> {
  const leftOver: LeftOver[] = [];
  for (const { path, socket } of stalled.splice(0)) {
    const bytes = await readToEnd(socket);
    const headEnd = bytes.indexOf('\r\n\r\n');
    const body = bytes.subarray(headEnd + 4);
    leftOver.push({
      path,
      head: bytes.toString('latin1', 0, headEnd),
      bodyBytes: body.length,
      lastBytes: body.toString('latin1', Math.max(0, body.length - 2_000)),
    });
  }
  say({ leftOver });
}
