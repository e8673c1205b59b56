// Playwright reads which fixtures are wanted from the pattern, so it must be there when it is empty.
// oxlint-disable no-empty-pattern
import { test as base, expect } from '@playwright/test';
import { type NodeProcess, startNode } from './nodeProcess.ts';
import { createPageChecks, type PageChecks } from './pageChecks.ts';
import { openScriptedWeb, type ScriptedWeb } from './scriptedWeb.ts';

interface Fixtures {
  /** A fresh node of this test alone. */
  node: NodeProcess;
  /** Pages on loopback for the node to watch. */
  web: ScriptedWeb;
  /** Fails the test at its end if a page complained, threw or asked another machine. */
  checks: PageChecks;
}

/** Playwright's test with a node: `page` is empty and signed in as its owner, addresses are relative to it. */
export const test = base.extend<Fixtures>({
  node: async ({}, use) => {
    const node = await startNode();
    await use(node);
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
  page: async ({ page, node, checks }, use) => {
    checks.watch(page);
    // Signed in without the page that follows: most tests begin with another.
    const signedIn = await page.request.get(node.signInLink, { maxRedirects: 0 });
    expect(signedIn.status()).toBe(303);
    await use(page);
  },
});

export { expect };
