import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';
import type { Result } from 'axe-core';

type ColorScheme = 'light' | 'dark';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Runs the axe accessibility rules on a page, or on parts of it, in one colour scheme. Returns a line for each violated
 * rule, followed by indented lines for each element. In the dark scheme only colour contrast is checked, because nothing
 * else differs.
 *
 * axe stays loaded in the page. It checks only the main document. The only frames of our pages show archived pages, which
 * are sandboxed and not ours.
 */
export async function accessibilityViolations(
  page: Page,
  colorScheme: ColorScheme,
  parts?: readonly string[],
): Promise<string> {
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction(
    (wanted) => (document.documentElement.dataset.mantineColorScheme ?? wanted) === wanted,
    colorScheme,
  );
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
  const violations = await page.evaluate(runRules, { parts, rules });
  return violations
    .flatMap(({ id, help, nodes }) => [
      `${id}: ${help}`,
      ...nodes.map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`),
    ])
    .join('\n');
}

/** Runs in the page, after all CSS transitions have finished. */
async function runRules(only: {
  parts: readonly string[] | undefined;
  rules: string[] | undefined;
}): Promise<Result[]> {
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await nextFrame();
  await nextFrame();
  const moving = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.allSettled(moving.map(({ finished }) => finished));
  if (document.querySelector('iframe:not([sandbox]), frame') !== null)
    throw new Error('The page has frames, which these rules do not check.');
  const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
  const { violations } = await axe.run(
    only.parts ? { include: only.parts.map((part) => [part]) } : document,
    {
      resultTypes: ['violations'],
      iframes: false,
      ...(only.rules && { runOnly: only.rules }),
    },
  );
  return violations;
}
