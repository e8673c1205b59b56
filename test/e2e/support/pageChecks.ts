import { expect, type Page } from '@playwright/test';
import { accessibilityViolations } from './accessibility.ts';

/** What a page must not do while a test runs: complain in its console, throw, or ask anybody but this machine. */
export interface PageChecks {
  /** Complaints that match are part of what the test does, such as a refusal that the browser reports. */
  allow(complaint: RegExp): void;
  /** Runs the accessibility rules on the page as it stands, by day and by night. */
  accessible(page: Page): Promise<void>;
  /** Watches one more page. */
  watch(page: Page): void;
  /** Fails with everything that was seen and not allowed. */
  expectNothingSeen(): void;
}

export function createPageChecks(): PageChecks {
  const seen: string[] = [];
  const allowed: RegExp[] = [];
  return {
    allow: (complaint) => void allowed.push(complaint),
    accessible: expectAccessible,
    watch: (page) => {
      page.on('console', (message) => {
        const isComplaint = message.type() === 'error' || message.type() === 'warning';
        if (isComplaint) seen.push(`${message.type()}: ${message.text()} (${message.location().url})`);
      });
      page.on('pageerror', (error) => seen.push(`thrown: ${error.message}`));
      page.on('request', (request) => {
        const { protocol, hostname } = new URL(request.url());
        if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1') {
          seen.push(`asked another machine: ${request.url()}`);
        }
      });
    },
    expectNothingSeen: () => {
      expect(seen.filter((complaint) => !allowed.some((pattern) => pattern.test(complaint)))).toEqual([]);
    },
  };
}

async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const complaints = await accessibilityViolations(page, colorScheme);
    // Softly, so that one run tells of every page.
    expect.soft(complaints, `accessibility of ${page.url()} in ${colorScheme}`).toBe('');
  }
  await page.emulateMedia({ colorScheme: null });
}
