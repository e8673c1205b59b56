import type { Page } from '@playwright/test';

/** How often a drop is tried: Chromium loses one if the page is just painted anew under the pointer. */
const TRIES = 3;
const RECEIVED_WITHIN_MS = 5_000;

/** Drops files and folders of the disk on the middle of the page, as a file manager does. */
export async function dropPaths(page: Page, files: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 720 };
  const at = { x: width / 2, y: height / 2, data: { items: [], files: [...files], dragOperationsMask: 1 } };
  for (let tries = 1; ; tries += 1) {
    const received = await page.evaluateHandle((ms) => {
      const listened = new Promise<boolean>((resolve) => {
        window.addEventListener('drop', () => resolve(true), { capture: true, once: true });
        setTimeout(() => resolve(false), ms);
      });
      return { listened };
    }, RECEIVED_WITHIN_MS);
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', { type, ...at });
    }
    if (await received.evaluate(({ listened }) => listened)) break;
    if (tries === TRIES) throw new Error('The page received no drop.');
  }
  await session.detach();
}

/** Drops files with these names and contents on the page. */
export async function dropBuffers(page: Page, files: readonly (readonly [string, Buffer])[]): Promise<void> {
  const transfer = await page.evaluateHandle(
    (sent) => {
      const made = new DataTransfer();
      for (const [name, content] of sent) {
        made.items.add(new File([Uint8Array.from(atob(content), (char) => char.charCodeAt(0))], name));
      }
      return made;
    },
    files.map(([name, content]): [string, string] => [name, content.toString('base64')]),
  );
  await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
}
