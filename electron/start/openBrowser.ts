import { spawn } from 'node:child_process';

/**
 * Asks the system to show an address. Whether it did is not waited for: a machine without a browser, or without a
 * display, still has the printed link.
 */
export function openBrowser(url: string): void {
  const command = commandFor(url);
  if (command === undefined) return;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', (error) => process.stderr.write(`No browser was opened: ${error.message}.\n`));
  child.unref();
}

function commandFor(url: string): [string, ...string[]] | undefined {
  switch (process.platform) {
    case 'darwin':
      return ['open', url];
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler', url];
    default:
      // Without a display a text browser would take over the terminal.
      return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined;
  }
}
