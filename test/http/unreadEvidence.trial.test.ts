import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ROUTE_SPECS, type RouteName } from '../../shared/routes.ts';
import { serveNode } from '../support/cli.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

/** Visitors ask for much at once and read nothing. Memory stays bounded, and others are answered. */

const AT_ONCE = 100;
/** Without a gate, 100 evidence files of 10 MB take more than 1.5 GB. */
const MAX_GROWTH_MB = 400;
/** No evidence is made for a HEAD: 100 connections take 40 MB. One evidence file takes 13 MB. */
const MAX_HEAD_GROWTH_MB = 100;

afterEach(closeTestNodes);

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** Opens connections that send a request and never read the answer. */
async function unread(url: URL, path: string, method = 'GET'): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const socket = connect({ host: url.hostname, port: Number(url.port) });
      socket.on('error', () => {});
      socket.pause();
      await once(socket, 'connect');
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
      return socket;
    }),
  );
}

test('no route for visitors fills the memory with what nobody reads, and others are answered meanwhile', async () => {
  const served = await serveNode(join(await temporaryFolder(), 'data'));
  try {
    const url = new URL(served.url);
    const token = (await readFile(served.token_file, 'utf8')).trim();
    const form = new FormData();
    form.append(
      'record',
      JSON.stringify({
        pack_format: 1,
        terms_version: '2026-10-01',
        title: 'Large',
        authors: [{ name: 'Ada' }],
        license: 'CC0-1.0',
        outcome: 'positive',
      }),
    );
    form.append('files', new Blob([Buffer.alloc(9_900_000, 'abcdefg')]), 'large.bin');
    const added = await fetch(new URL('/api/packs', url), {
      method: 'POST',
      body: form,
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(added.status).toBe(201);
    const { id, files } = (await added.json()) as { id: string; files: { sha256: string }[] };
    const values: Record<string, string> = {
      id,
      sha256: files[0]?.sha256 ?? '',
      digest: files[0]?.sha256 ?? '',
    };
    const paths = (Object.keys(ROUTE_SPECS) as RouteName[])
      .map((name) => ROUTE_SPECS[name])
      .filter(({ method, access }) => method === 'GET' && (access === 'read' || access === 'open'))
      .map(({ path }) => path.replace(/\{\+?(\w+)\}/g, (_all, key: string) => values[key] ?? '1'));
    const beforeHeads = await residentMb(served.pid);
    const heads = await unread(url, `/api/packs/${id}/evidence`, 'HEAD');
    for (const socket of heads) {
      const [head] = (await once(socket.resume(), 'data')) as [Buffer];
      expect(head.toString()).toMatch(/^HTTP\/1.1 200 /);
    }
    const afterHeads = (await residentMb(served.pid)) - beforeHeads;
    for (const socket of heads) socket.destroy();
    const before = await residentMb(served.pid);
    let most = 0;
    for (const path of new Set(paths)) {
      const sockets = await unread(url, path);
      // Another visitor is answered.
      const answer = await fetch(new URL('/api/health', url));
      expect([path, answer.status]).toEqual([path, 200]);
      await fetch(new URL(`/api/packs/${id}`, url)).then((response) => response.text());
      most = Math.max(most, (await residentMb(served.pid)) - before);
      for (const socket of sockets) socket.destroy();
    }
    console.log(
      `${new Set(paths).size} routes × ${AT_ONCE} unread requests: at most ${Math.round(most)} MB more, ${Math.round(afterHeads)} MB for HEAD`,
    );
    expect(most).toBeLessThan(MAX_GROWTH_MB);
    expect(afterHeads).toBeLessThan(MAX_HEAD_GROWTH_MB);
  } finally {
    served.child.kill();
    await once(served.child, 'close');
  }
});
