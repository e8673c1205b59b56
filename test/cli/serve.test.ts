import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { end, runCommand, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

const served: ServedNode[] = [];

async function serve(folder: string, ...more: string[]): Promise<ServedNode> {
  const node = await serveNode(folder, ...more);
  served.push(node);
  return node;
}

afterEach(async () => {
  for (const node of served.splice(0)) if (node.child.exitCode === null) await end(node, 'SIGKILL');
  await closeTestNodes();
});

async function addNode(node: ServedNode, path: string): Promise<number> {
  const headers = {
    Authorization: `Bearer ${await readFile(node.token_file, 'utf8')}`,
    'Content-Type': 'application/json',
  };
  const body = JSON.stringify({ path, title: path });
  return (await fetch(`${node.url}/api/nodes`, { method: 'POST', headers, body })).status;
}

describe('strongroom serve (contract, section 6)', () => {
  test('prints URL, process id, data folder and token file with --json', async () => {
    const data = join(await temporaryFolder(), 'data');
    const node = await serve(data);
    expect(node).toMatchObject({ pid: node.child.pid, data, token_file: join(data, 'owner-token') });
    expect(await (await fetch(`${node.url}/api/health`)).json()).toEqual({ status: 'up' });
    expect((await stat(node.token_file)).mode & 0o777).toBe(0o600);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s stops it with exit code 0, and its records are kept',
    async (signal) => {
      const data = await temporaryFolder();
      const first = await serve(data);
      expect(await addNode(first, 'kept')).toBe(201);
      expect(await end(first, signal)).toBe(0);
      const second = await serve(data);
      expect((await fetch(`${second.url}/api/nodes/kept`)).status).toBe(200);
    },
  );

  test('repeated signals do not interrupt its closing', async () => {
    const node = await serveNode(await temporaryFolder());
    const ended = once(node.child, 'exit');
    const again = setInterval(() => node.child.kill('SIGINT'), 2);
    await ended;
    clearInterval(again);
    // A node that closes in order removes its endpoint file before it closes the database.
    expect(existsSync(join(node.data, 'listening'))).toBe(false);
    expect(existsSync(join(node.data, 'strongroom.db-wal'))).toBe(false);
  });

  test('an open event stream does not delay its exit', async () => {
    const node = await serve(await temporaryFolder());
    const stream = await fetch(`${node.url}/api/events/stream`);
    expect(stream.status).toBe(200);
    expect(await end(node, 'SIGTERM')).toBe(0);
    await stream.body?.cancel().catch(() => {});
  });

  test.each([
    ['without a request', ''],
    ['with an incomplete request', 'GET /api/he'],
  ])('a connection %s does not delay its exit', { timeout: 60_000 }, async (_name, sent) => {
    const node = await serve(await temporaryFolder());
    const { hostname, port } = new URL(node.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(sent);
    // The node has accepted the connection by then.
    expect((await fetch(`${node.url}/api/health`)).status).toBe(200);
    // Waiting for the connection to time out would exceed the timeout of the test.
    expect(await end(node, 'SIGTERM')).toBe(0);
    socket.destroy();
  });

  test('refuses a data folder that another node has open', async () => {
    const data = await temporaryFolder();
    await serve(data);
    const { code, stdout, stderr } = await runCommand(['serve', '--port', '0', '--data', data]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^Another Strongroom has the data folder .* open\..*\n$/);
  });

  test('exits if opening fails after it has started to listen', async () => {
    const data = await temporaryFolder();
    await mkdir(join(data, 'listening.new'));
    const { code, stderr } = await runCommand(['serve', '--port', '0', '--no-collect', '--data', data]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/ is a folder; name a file\.\n$/);
  });

  test('starts although an interrupted audit cannot be marked as ended', async () => {
    const data = await temporaryFolder();
    await end(await serve(data), 'SIGTERM');
    const database = new Database(join(data, 'strongroom.db'));
    database.exec(`
      INSERT INTO audits (id, started_by, started_at) VALUES (1000, 'owner', '2026-11-20T10:00:00.000Z');
      CREATE TRIGGER fails BEFORE UPDATE ON audits BEGIN SELECT RAISE(ABORT, 'It fails.'); END`);
    database.close();
    const node = await serve(data, '--no-collect');
    expect((await fetch(`${node.url}/api/packs`)).status).toBe(200);
    expect(await end(node, 'SIGTERM')).toBe(0);
  });

  test('names a database file that it cannot write to', async () => {
    const data = await temporaryFolder();
    const file = join(data, 'strongroom.db');
    await writeFile(file, '', { mode: 0o400 });
    // Root can write to every file, unless it gives up this capability.
    const before = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : [];
    const args = ['serve', '--port', '0', '--data', data];
    const { code, stderr } = await runCommand(args, undefined, {}, before);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Nothing can be written to .*strongroom\.db\. .*\n$/);
  });

  test('uses the file of --token-file for the token', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'elsewhere', 'token');
    const node = await serve(join(folder, 'data'), '--token-file', file);
    expect(node.token_file).toBe(file);
    expect(await addNode(node, 'a')).toBe(201);
  });

  test('exits with 2 and one sentence after wrong usage', async () => {
    for (const args of [
      ['nope'],
      ['serve', '--port', 'x'],
      ['serve', '--nope'],
      ['serve', '--port', '70000'],
    ]) {
      const { code, stderr } = await runCommand(args);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect((await runCommand(['serve', '--help'])).stdout).toContain('--no-collect');
    expect((await runCommand(['--help'])).code).toBe(0);
  });
});

describe('strongroom sign-in', () => {
  test('prints a link that signs one browser in, once', async () => {
    const data = await temporaryFolder();
    const node = await serve(data);
    const { code, stdout } = await runHere(['sign-in', '--data', data]);
    expect(code).toBe(0);
    const link = stdout.trim();
    expect(link.startsWith(`${node.url}/sign-in/`)).toBe(true);
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(403);
  });

  test('says what to do if no node answers, or another one does', async () => {
    const data = await temporaryFolder();
    const node = await serve(data);
    const other = await temporaryFolder();
    await writeFile(join(other, 'owner-token'), '0'.repeat(64));
    const wrong = await runHere(['sign-in', '--url', node.url, '--data', other]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--data')]);
    await end(node, 'SIGTERM');
    const silent = await runHere(['sign-in', '--url', node.url, '--data', data]);
    expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining('--url')]);
  });
});

describe('strongroom ledger verify', () => {
  test('verifies an intact folder, also against an earlier checkpoint, while the node runs', async () => {
    const data = await temporaryFolder();
    const node = await serve(data);
    await addNode(node, 'a');
    const checkpoint = join(data, 'kept.checkpoint');
    await writeFile(checkpoint, await (await fetch(`${node.url}/api/ledger/checkpoint`)).text());
    await addNode(node, 'b');
    const text = await readFile(checkpoint, 'utf8');
    await writeFile(`${checkpoint}.txt`, text.trimEnd().replaceAll('\n', '\r\n'));
    const edited = await runHere(['ledger', 'verify', '--data', data, '--checkpoint', `${checkpoint}.txt`]);
    expect(edited.stdout).toContain('Nothing was rewritten');
    const { code, stdout } = await runHere(['ledger', 'verify', '--data', data, '--checkpoint', checkpoint]);
    expect(stdout).toMatch(
      /^2 entries are valid\. .*\nNothing was rewritten since the checkpoint over 1 entry\.\n$/,
    );
    expect(code).toBe(0);
  });

  test('exits with 1 if the ledger was rewritten, even with valid links', async () => {
    const data = await temporaryFolder();
    const node = await serve(data);
    await addNode(node, 'a');
    const checkpoint = join(data, 'kept.checkpoint');
    await writeFile(checkpoint, await (await fetch(`${node.url}/api/ledger/checkpoint`)).text());
    await end(node, 'SIGTERM');
    const database = new Database(join(data, 'strongroom.db'));
    database.pragma('foreign_keys = OFF');
    const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
    for (const name of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec('DELETE FROM nodes; DELETE FROM ledger');
    database.close();
    const found = await runHere(['ledger', 'verify', '--data', data, '--checkpoint', checkpoint, '--json']);
    expect(found.code).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({
      ok: false,
      size: 0,
      checkpoint: { ok: false, sentence: expect.stringContaining('entries are missing') },
    });
  });

  test('accepts the unsigned heads that the interface once saved', async () => {
    const data = await temporaryFolder();
    const node = await serve(data);
    await addNode(node, 'a');
    const { head } = (await (await fetch(`${node.url}/api/ledger`)).json()) as { head: object };
    await addNode(node, 'b');
    const saved = {
      format: 'strongroom-ledger-head',
      version: 1,
      node: 'a.example',
      ...head,
      saved_at: '2026-11-20T10:00:00.000Z',
    };
    const file = join(data, 'ledger-head.json');
    const verify = async (changes: object) => {
      await writeFile(file, JSON.stringify({ ...saved, ...changes }));
      return runHere(['ledger', 'verify', '--data', data, '--checkpoint', file]);
    };
    const found = await verify({});
    expect(found.stdout).toContain('Nothing was rewritten since the file was saved with 1 entry.');
    expect(found.code).toBe(0);
    for (const changes of [{ hash: 'a'.repeat(64) }, { root: 'a'.repeat(64) }]) {
      const { code, stderr } = await verify(changes);
      expect([code, stderr]).toEqual([1, expect.stringContaining('the ledger was rewritten')]);
    }
    const longer = await verify({ seq: 9 });
    expect([longer.code, longer.stderr]).toEqual([1, expect.stringContaining('entries are missing')]);
    const missing = await runHere(['ledger', 'verify', '--data', data, '--checkpoint', `${file}.not`]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('There is no file')]);
  });

  test('exits with 2 if the folder holds no archive', async () => {
    expect((await runHere(['ledger', 'verify', '--data', await temporaryFolder()])).code).toBe(2);
  });
});
