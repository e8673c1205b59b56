import { createServer } from 'node:http';

/** What the process inside a namespace is told. */
export type Told =
  | { listen: string; port: number }
  | { script: Record<string, { status?: number; headers?: Record<string, string>; body: string }> }
  | {
      ask: {
        id: number;
        url: string;
        init: { method: string; headers: Record<string, string>; body?: string };
      };
    };

/** What it says. */
export type Said =
  | { listening: string }
  | { seen: { address: string; host: string; path: string } }
  | { answered: { id: number; status: number; body: string } }
  | { failed: { id: number; error: string } };

/**
 * The web and the visitor of a network namespace: serves what it is told on the addresses it is told, tells who was asked
 * what, and asks the node that runs beside it. The namespace is not reached from outside; this process is, by its parent.
 */
const pages = new Map<string, { status?: number; headers?: Record<string, string>; body: string }>();

process.on('message', (told: Told) => {
  if ('listen' in told) listen(told.listen, told.port);
  else if ('script' in told) for (const [path, page] of Object.entries(told.script)) pages.set(path, page);
  else void ask(told.ask);
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

async function ask({ id, url, init }: Extract<Told, { ask: unknown }>['ask']): Promise<void> {
  try {
    const answer = await fetch(url, init);
    say({ answered: { id, status: answer.status, body: await answer.text() } });
  } catch (error) {
    say({ failed: { id, error: String(error) } });
  }
}
