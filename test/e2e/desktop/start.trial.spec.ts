import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test as base, expect } from '@playwright/test';

const root = resolve(import.meta.dirname, '../../..');

/** A process `npm start`, and its output so far. */
interface Start {
  child: ChildProcess;
  output: () => string;
  exited: Promise<number | null>;
}

interface Fixtures {
  folder: string;
  /** Starts the app on a machine without a display. */
  start: (...args: string[]) => Start;
  /** The same through npm, as users start it. */
  npmStart: (...args: string[]) => Start;
}

const test = base.extend<Fixtures>({
  // oxlint-disable-next-line no-empty-pattern -- Playwright reads which fixtures a test needs from the pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-start-'));
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
  start: async ({ folder }, use) =>
    starting(folder, [process.execPath, join(root, 'electron/start.ts')], use),
  npmStart: async ({ folder }, use) => starting(folder, ['npm', 'start', '--'], use),
});

/** Provides a function that starts the command with more arguments. Kills the processes after the test. */
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
      // A group of its own, as a shell makes one for each command that a person types.
      detached: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const exited = once(child, 'close').then(([code]) => code as number | null);
    started.push({ child, output: () => output, exited });
    return { child, output: () => output, exited };
  });
  for (const { child, exited } of started) {
    child.kill('SIGKILL');
    await exited;
  }
}

test.describe('npm start where no window can be opened', () => {
  test.skip(process.platform !== 'linux', 'Other systems always have a display.');

  test('prints the reason, runs the node, and prints a link that signs the browser in', async ({
    start,
    page,
    folder,
  }) => {
    const { output, child, exited } = start('--port', '0');
    await expect.poll(output).toContain('Press Ctrl-C to stop.');
    expect(output()).toContain('not in its own window, because there is no display');
    expect(output()).toContain(join(folder, 'strongroom', 'archive'));
    const link = /http:\S+\/sign-in\/\w+/.exec(output())?.[0] ?? '';
    await page.goto(link);
    await expect(page.getByRole('navigation').first().getByRole('link', { name: 'Settings' })).toBeVisible();
    // npm forwards the signal that the terminal also sends, so two arrive.
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect(await exited).toBe(0);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    test(`exits with npm (${signal}) and closes its archive`, async ({ npmStart, folder }) => {
      const data = join(folder, 'data');
      const { output, child, exited } = npmStart('--port', '0', '--data', data);
      await expect.poll(output).toContain('Press Ctrl-C to stop.');
      expect(existsSync(join(data, 'listening'))).toBe(true);
      // Ctrl-C in a terminal reaches the whole group; the other signals reach npm alone.
      if (signal === 'SIGINT') process.kill(-(child.pid ?? Number.NaN), signal);
      else child.kill(signal);
      // The output ends when the last process has exited.
      await exited;
      expect(existsSync(join(data, 'listening'))).toBe(false);
    });
  }

  test('prints which folder is in use, and exits', async ({ start, folder }) => {
    const data = join(folder, 'data');
    const first = start('--port', '0', '--data', data);
    await expect.poll(first.output).toContain('Press Ctrl-C to stop.');
    const second = start('--port', '0', '--data', data);
    expect(await second.exited).toBe(2);
    expect(second.output()).toMatch(
      new RegExp(`Another Strongroom has the data folder ${data} open\\..*\\n$`),
    );
  });

  test('prints that a port is in use, and which option is unknown', async ({ start, folder }) => {
    const first = start('--port', '0', '--data', join(folder, 'one'));
    await expect.poll(first.output).toContain('Press Ctrl-C to stop.');
    const port = /127\.0\.0\.1:(\d+)/.exec(first.output())?.[1] ?? '';
    const second = start('--port', port, '--data', join(folder, 'two'));
    expect(await second.exited).toBe(2);
    expect(second.output()).toContain(`Port ${port} is in use.`);
    const third = start('--nonsense');
    expect(await third.exited).toBe(2);
    expect(third.output()).toContain('--nonsense');
    expect(third.output()).not.toContain('    at ');
  });
});
