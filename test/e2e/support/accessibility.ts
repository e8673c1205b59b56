import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';
import type { Result } from 'axe-core';

type ColorScheme = 'light' | 'dark';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What the accessibility rules say against the page as it stands, or against parts of it, by day or by night: a line
 * for each rule and indented ones for each place. By night only the colours differ, so only they are looked at then.
 *
 * The rules stay in the page for the next time, and run in its own document alone: none of our pages has frames.
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

/** In the page, once no colour is on its way to another. */
async function runRules(only: {
  parts: readonly string[] | undefined;
  rules: string[] | undefined;
}): Promise<Result[]> {
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await nextFrame();
  await nextFrame();
  const moving = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.allSettled(moving.map(({ finished }) => finished));
  if (document.querySelector('iframe, frame') !== null)
    throw new Error('The page has frames, and these rules do not look into them.');
  const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
  const { violations } = await axe.run(
    only.parts ? { include: only.parts.map((part) => [part]) } : document,
    {
      resultTypes: ['violations'],
      ...(only.rules && { runOnly: only.rules }),
    },
  );
  return violations;
}
