import { expect, type Page } from '@playwright/test';
import { accessibilityViolations } from './accessibility.ts';

/** Checks that a page logs no errors, does not throw, and sends requests to this machine only. */
export interface PageChecks {
  /** Allows errors that the test provokes, such as a refused request that the browser logs. */
  allow(error: RegExp): void;
  /**
   * Runs the accessibility rules on a page in a state that `accessibility.trial.spec.ts` does not show, such as a dialog or a
   * failure; that test checks every page as it is. In the dark scheme only the contrast of colours can differ.
   */
  accessible(page: Page, colorScheme?: 'light' | 'dark'): Promise<void>;
  /** Also checks this page. */
  watch(page: Page): void;
  /** Fails with all errors that were not allowed. */
  expectNothingSeen(): void;
}

export function createPageChecks(): PageChecks {
  const seen: string[] = [];
  const allowed: RegExp[] = [];
  return {
    allow: (error) => void allowed.push(error),
    accessible: expectAccessible,
    watch: (page) => {
      page.on('console', (message) => {
        const isError = message.type() === 'error' || message.type() === 'warning';
        if (isError) seen.push(`${message.type()}: ${message.text()} (${message.location().url})`);
      });
      page.on('pageerror', (error) => seen.push(`thrown: ${error.message}`));
      page.on('request', (request) => {
        const { protocol, hostname } = new URL(request.url());
        if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1') {
          seen.push(`request to another machine: ${request.url()}`);
        }
      });
    },
    expectNothingSeen: () => {
      expect(seen.filter((error) => !allowed.some((pattern) => pattern.test(error)))).toEqual([]);
    },
  };
}

async function expectAccessible(page: Page, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
  const violations = await accessibilityViolations(page, colorScheme);
  // Soft, so that one run reports every page.
  expect.soft(violations, `accessibility of ${page.url()} in ${colorScheme}`).toBe('');
  await page.emulateMedia({ colorScheme: null });
}
