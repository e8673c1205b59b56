import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBrowser, startChromium } from '../../server/browser/chromium.ts';
import { drawPage } from '../../server/browser/drawPage.ts';

/** Draws one page with the browser of this machine and prints its text, and how its renderers are confined. */

const executable = await findBrowser();
if (executable === null) throw new Error('There is no browser.');
const running = await startChromium(executable, mkdtempSync(join(tmpdir(), 'strongroom-profiles-')));
const html = '<p id="p"></p><script>p.textContent = "Drawn by script."</script>';
const page = await drawPage(running, {
  url: 'https://site.example/',
  gate: {
    answer: async () => ({ status: 200, headers: [['content-type', 'text/html']], body: Buffer.from(html) }),
    refuse: () => {},
  },
  viewport: { width: 800, height: 600, scale: 1 },
  startsAt: 0,
  seed: '0123456789abcdef',
  timeoutMs: 60_000,
  maxRequests: 10,
  maxBytes: 1_000_000,
  signal: new AbortController().signal,
});
const renderers = readdirSync('/proc')
  .filter((name) => /^\d+$/.test(name))
  .filter((pid) => {
    const command = readProc(pid, 'cmdline');
    return command.startsWith(executable) && command.includes('--type=renderer');
  })
  .map((pid) => /^Seccomp:\s*(\d)$/m.exec(readProc(pid, 'status'))?.[1]);
await running.close();
process.stdout.write(
  JSON.stringify({ executable, text: page.text, picture: page.picture.length, renderers }),
);

/** A process may have ended meanwhile. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
