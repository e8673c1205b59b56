// Playwright reads which fixtures a test needs from the pattern, so even an empty pattern is required.
// oxlint-disable no-empty-pattern
import { type APIRequestContext, test as base, expect, type PlaywrightWorkerArgs } from '@playwright/test';
import { NodeHost } from './nodeHost.ts';
import type { NodeProcess } from './nodeProcess.ts';
import { createPageChecks, type PageChecks } from './pageChecks.ts';
import { openScriptedWeb, type ScriptedWeb } from './scriptedWeb.ts';
import { signIn } from './signIn.ts';

interface Fixtures {
  /** Drafts of more bytes are published as sets. Default: what a pack can have. */
  packBytes: number | undefined;
  /** A new node for this test. It shares its process with the nodes of the tests before it. */
  node: NodeProcess;
  /** A web server on loopback with pages for the node to watch. */
  web: ScriptedWeb;
  /** Fails the test at its end if a page logged an error, threw, or sent a request to another machine. */
  checks: PageChecks;
}

/**
 * Playwright's test with a node. `page` is empty and signed in as the owner; URLs are relative to the node. `page.request` is a
 * program of the owner: it sends the owner's token.
 */
export const test = base.extend<Fixtures, { host: NodeHost }>({
  host: [
    async ({}, use) => {
      const host = new NodeHost();
      await use(host);
      await host.end();
    },
    { scope: 'worker' },
  ],
  packBytes: [undefined, { option: true }],
  node: async ({ host, browser, packBytes }, use) => {
    const node = await host.open({ isCopied: true, packBytes });
    await use(node);
    // A page that a test opened itself would report that its node is gone.
    await Promise.all(browser.contexts().map((context) => context.close()));
    await node.stop();
  },
  web: async ({}, use) => {
    const web = await openScriptedWeb();
    await use(web);
    await web.close();
  },
  checks: [
    async ({}, use) => {
      const checks = createPageChecks();
      await use(checks);
      checks.expectNothingSeen();
    },
    { auto: true },
  ],
  baseURL: async ({ node }, use) => use(node.url),
  page: async ({ page, node, checks, playwright }, use) => {
    await signIn(page, node.signInLink);
    await page.goto('about:blank');
    checks.watch(page);
    const request = await ownersRequests(playwright, node);
    await use(Object.defineProperty(page, 'request', { value: request }));
    await request.dispose();
  },
});

/** Sends requests with the owner's token. */
export function ownersRequests(
  { request }: PlaywrightWorkerArgs['playwright'],
  { url, token }: Pick<NodeProcess, 'url' | 'token'>,
): Promise<APIRequestContext> {
  return request.newContext({ baseURL: url, extraHTTPHeaders: { Authorization: `Bearer ${token}` } });
}

export { expect };
