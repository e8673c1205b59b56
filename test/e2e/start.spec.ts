import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test as base, expect } from '@playwright/test';

const root = resolve(import.meta.dirname, '../..');

/** `npm start` as a process, and what it has said so far. */
interface Start {
  child: ChildProcess;
  said: () => string;
  exited: Promise<number | null>;
}

interface Fixtures {
  folder: string;
  /** Starts the app on a machine without a display. */
  start: (...args: string[]) => Start;
  /** The same through npm, as people start it. */
  npmStart: (...args: string[]) => Start;
}

const test = base.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern -- Playwright reads the fixtures that are wanted from the pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-start-'));
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
  start: async ({ folder }, use) =>
    starting(folder, [process.execPath, join(root, 'electron/start.ts')], use),
  npmStart: async ({ folder }, use) => starting(folder, ['npm', 'start', '--'], use),
});

/** Gives a test the command with its own words, and ends what is left of it afterwards. */
async function starting(
  folder: string,
  [program = '', ...before]: string[],
  use: (start: (...args: string[]) => Start) => Promise<void>,
): Promise<void> {
  const started: Start[] = [];
  await use((...args) => {
    const { DISPLAY: _x11, WAYLAND_DISPLAY: _wayland, ...env } = process.env;
    const child = spawn(program, [...before, ...args], {
      cwd: root,
      env: { ...env, XDG_CONFIG_HOME: folder, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    const exited = once(child, 'close').then(([code]) => code as number | null);
    started.push({ child, said: () => said, exited });
    return { child, said: () => said, exited };
  });
  for (const { child, exited } of started) {
    child.kill('SIGKILL');
    await exited;
  }
}

test.describe('npm start where no window can be opened', () => {
  test.skip(process.platform !== 'linux', 'Elsewhere there is always a display.');

  test('says why in a sentence, runs the node, and its link signs the browser in', async ({
    start,
    page,
    folder,
  }) => {
    const { said, child, exited } = start('--port', '0');
    await expect.poll(said).toContain('End it with Ctrl-C.');
    expect(said()).toContain('No window of its own, because there is no display');
    expect(said()).toContain(join(folder, 'strongroom', 'archive'));
    const link = /http:\S+\/sign-in\/\w+/.exec(said())?.[0] ?? '';
    await page.goto(link);
    expect(await page.evaluate(async () => (await fetch('/api/session')).json())).toMatchObject({
      owner: true,
    });
    await expect(page.getByRole('navigation').first()).toBeVisible();
    // npm passes on the signal that the terminal has sent already: two come.
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect(await exited).toBe(0);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    test(`ends with npm (${signal}), and its archive is closed in order`, async ({ npmStart, folder }) => {
      const data = join(folder, 'data');
      const { said, child, exited } = npmStart('--port', '0', '--data', data);
      await expect.poll(said).toContain('End it with Ctrl-C.');
      expect(existsSync(join(data, 'listening'))).toBe(true);
      child.kill(signal);
      // Its output ends when the last of its processes has ended.
      await exited;
      expect(existsSync(join(data, 'listening'))).toBe(false);
    });
  }

  test('says in a sentence which folder is in use, and ends', async ({ start, folder }) => {
    const data = join(folder, 'data');
    const first = start('--port', '0', '--data', data);
    await expect.poll(first.said).toContain('End it with Ctrl-C.');
    const second = start('--port', '0', '--data', data);
    expect(await second.exited).toBe(2);
    expect(second.said()).toMatch(new RegExp(`Another Strongroom has the data folder ${data} open\\..*\\n$`));
  });

  test('says in a sentence that a port is in use, and which words it does not take', async ({
    start,
    folder,
  }) => {
    const first = start('--port', '0', '--data', join(folder, 'one'));
    await expect.poll(first.said).toContain('End it with Ctrl-C.');
    const port = /127\.0\.0\.1:(\d+)/.exec(first.said())?.[1] ?? '';
    const second = start('--port', port, '--data', join(folder, 'two'));
    expect(await second.exited).toBe(2);
    expect(second.said()).toContain(`Port ${port} is in use.`);
    const third = start('--nonsense');
    expect(await third.exited).toBe(2);
    expect(third.said()).toContain('--nonsense');
    expect(third.said()).not.toContain('    at ');
  });
});
