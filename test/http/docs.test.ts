import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { PROBLEMS } from '../../shared/problems.ts';
import { ROUTE_SPECS } from '../../shared/routes.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

afterEach(closeTestNodes);

async function pageOf(node: TestNode): Promise<string> {
  const response = await node.fetch('/api/docs');
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  return response.text();
}

describe('GET /api/docs (contract, section 1: Description)', () => {
  test('loads no external resources, and the policy allows only the page’s style', async () => {
    const node = await openTestNode();
    const response = await node.fetch('/api/docs');
    expect(response.headers.get('Content-Security-Policy')).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'; /,
    );
    const page = await response.text();
    expect(page).not.toMatch(/<(script|img|link|iframe|object|embed|form|base)\b|@import|url\(|\son\w+=/i);
    const links = [...page.matchAll(/\b(?:href|src|action)="([^"]*)"/g)].map(([, link]) => link);
    expect(links.filter((link) => !link?.startsWith('#'))).toEqual(['/api/openapi.json']);
  });

  test('contains every operation, every referenced schema and every problem exactly once', async () => {
    const page = await pageOf(await openTestNode());
    const ids = [...page.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const name of Object.keys(ROUTE_SPECS)) expect(ids).toContain(name);
    for (const code of Object.keys(PROBLEMS)) expect(ids).toContain(`problem-${code}`);
    const anchors = [...page.matchAll(/href="#([^"]*)"/g)].map(([, anchor]) => anchor);
    expect(anchors.filter((anchor) => !ids.includes(anchor))).toEqual([]);
  });

  test('the example commands use the URL of the request, and one of them works unchanged', async () => {
    const node = await openTestNode();
    const page = await pageOf(node);
    const commands = [...page.matchAll(/<pre><code>([^<]*)</g)].map(([, command]) =>
      unescaped(command ?? ''),
    );
    expect(commands).toHaveLength(Object.keys(ROUTE_SPECS).length);
    for (const command of commands) expect(command).toContain(`'${node.url}/`);
    const create = commands.find((command) => command.includes(`-X POST '${node.url}/api/nodes'`)) ?? '';
    const body = /-d '(.*)'/.exec(create)?.[1] ?? '';
    const path = (JSON.parse(body) as { path: string }).path.split('/');
    await node.sendJson('POST', '/api/nodes', { path: path[0], title: 'Parent' });
    expect((await node.sendJson('POST', '/api/nodes', JSON.parse(body))).status).toBe(201);
  });

  test('is generated once in a worker thread, even for concurrent requests', async () => {
    const node = await openTestNode();
    const threads: Worker[] = [];
    const count = (thread: Worker) => void threads.push(thread);
    process.on('worker', count);
    const [page, same] = await Promise.all([pageOf(node), pageOf(node), node.fetch('/api/openapi.json')]);
    await pageOf(node);
    process.off('worker', count);
    expect(page).toBe(same);
    // None if a thread was waiting for work.
    expect(threads.length).toBeLessThanOrEqual(1);
  });

  test('HEAD responds like GET', async () => {
    const node = await openTestNode();
    const head = await node.fetch('/api/docs', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

function unescaped(text: string): string {
  return text.replace(/&#(\d+);/g, (_whole, code: string) => String.fromCharCode(Number(code)));
}
