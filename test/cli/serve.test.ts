import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, test } from 'vitest';
import { end, runCommand, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
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

async function addNode({ url, token_file }: { url: string; token_file: string }, path: string) {
  const headers = {
    Authorization: `Bearer ${await readFile(token_file, 'utf8')}`,
    'Content-Type': 'application/json',
  };
  const body = JSON.stringify({ path, title: path });
  return (await fetch(`${url}/api/nodes`, { method: 'POST', headers, body })).status;
}

/** Opens a connection to a node and sends this. */
async function connection({ url }: ServedNode, sent: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(sent);
  return socket;
}

// A process of its own takes two seconds of the processor. What needs none has a node in this one.
describe('strongroom serve (contract, section 6)', () => {
  test('prints URL, process id, data folder and token file with --json; SIGTERM and SIGINT stop it with exit code 0, and its records are kept', async () => {
    const data = join(await temporaryFolder(), 'data');
    const first = await serve(data);
    expect(first).toMatchObject({ pid: first.child.pid, data, token_file: join(data, 'owner-token') });
    expect(await (await fetch(`${first.url}/api/health`)).json()).toEqual({ status: 'up' });
    expect((await stat(first.token_file)).mode & 0o777).toBe(0o600);
    expect(await addNode(first, 'first')).toBe(201);
    expect(await end(first, 'SIGTERM')).toBe(0);
    // With `--token-file`, it uses that file for the token.
    const file = join(await temporaryFolder(), 'elsewhere', 'token');
    const second = await serve(data, '--token-file', file);
    expect(second.token_file).toBe(file);
    expect((await fetch(`${second.url}/api/nodes/first`)).status).toBe(200);
    expect(await addNode(second, 'second')).toBe(201);
    expect(await end(second, 'SIGINT')).toBe(0);
    const third = await openTestNode({ dataFolder: data });
    expect((await third.fetch('/api/nodes/second')).status).toBe(200);
  });

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

  test('neither an open event stream nor a connection without a request or with an incomplete one delays its exit', {
    timeout: 60_000,
  }, async () => {
    const node = await serve(await temporaryFolder());
    const stream = await fetch(`${node.url}/api/events/stream`);
    expect(stream.status).toBe(200);
    const sockets = [await connection(node, ''), await connection(node, 'GET /api/he')];
    // The node has accepted the connections by then.
    expect((await fetch(`${node.url}/api/health`)).status).toBe(200);
    // Waiting for a connection to time out would exceed the timeout of the test.
    expect(await end(node, 'SIGTERM')).toBe(0);
    await stream.body?.cancel().catch(() => {});
    for (const socket of sockets) socket.destroy();
  });

  test('refuses a data folder that another node has open', async () => {
    const { dataFolder } = await openTestNode();
    const { code, stdout, stderr } = await runCommand(['serve', '--port', '0', '--data', dataFolder]);
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
    const first = await openTestNode();
    const { dataFolder } = first;
    await first.close();
    const database = new Database(join(dataFolder, 'strongroom.db'));
    database.exec(`
      INSERT INTO audits (id, started_by, started_at) VALUES (1000, 'owner', '2026-11-20T10:00:00.000Z');
      CREATE TRIGGER fails BEFORE UPDATE ON audits BEGIN SELECT RAISE(ABORT, 'It fails.'); END`);
    database.close();
    const node = await openTestNode({ dataFolder, audit: true });
    expect((await node.fetch('/api/packs')).status).toBe(200);
    await node.close();
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

  test('exits with 2 and one sentence after wrong usage', async () => {
    for (const args of [
      ['nope'],
      ['serve', '--port', 'x'],
      ['serve', '--nope'],
      ['serve', '--port', '70000'],
    ]) {
      const { code, stderr } = await runHere(args);
      expect(code, args.join(' ')).toBe(2);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect((await runHere(['serve', '--help'])).stdout).toContain('--no-collect');
    expect((await runHere(['--help'])).code).toBe(0);
    // The code is that of the process.
    expect((await runCommand(['nope'])).code).toBe(2);
  });
});

async function add(node: TestNode, path: string): Promise<void> {
  expect((await node.sendJson('POST', '/api/nodes', { path, title: path })).status).toBe(201);
}

describe('strongroom sign-in', () => {
  test('prints a link that signs one browser in, once', async () => {
    const node = await openTestNode();
    const data = node.dataFolder;
    const { code, stdout } = await runHere(['sign-in', '--data', data]);
    expect(code).toBe(0);
    const link = stdout.trim();
    expect(link.startsWith(`${node.url}/sign-in/`)).toBe(true);
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(link, { redirect: 'manual' })).status).toBe(403);
  });

  test('says what to do if no node answers, or another one does', async () => {
    const node = await openTestNode();
    const data = node.dataFolder;
    const other = await temporaryFolder();
    await writeFile(join(other, 'owner-token'), '0'.repeat(64));
    const wrong = await runHere(['sign-in', '--url', node.url, '--data', other]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--data')]);
    await node.close();
    const silent = await runHere(['sign-in', '--url', node.url, '--data', data]);
    expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining('--url')]);
  });
});

describe('strongroom ledger verify', () => {
  test('verifies an intact folder, also against an earlier checkpoint, while the node runs', async () => {
    const node = await openTestNode();
    const data = node.dataFolder;
    await add(node, 'a');
    const checkpoint = join(data, 'kept.checkpoint');
    await writeFile(checkpoint, await (await fetch(`${node.url}/api/ledger/checkpoint`)).text());
    await add(node, 'b');
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
    const node = await openTestNode();
    const data = node.dataFolder;
    await add(node, 'a');
    const checkpoint = join(data, 'kept.checkpoint');
    await writeFile(checkpoint, await (await fetch(`${node.url}/api/ledger/checkpoint`)).text());
    await node.close();
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

  test('exits with 2 if there is no such checkpoint file', async () => {
    const { dataFolder } = await openTestNode();
    const file = join(dataFolder, 'nothing');
    const missing = await runHere(['ledger', 'verify', '--data', dataFolder, '--checkpoint', file]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('There is no file')]);
  });

  test('exits with 2 if the folder holds no archive', async () => {
    expect((await runHere(['ledger', 'verify', '--data', await temporaryFolder()])).code).toBe(2);
  });
});
