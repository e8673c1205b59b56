import { spawn } from 'node:child_process';

/**
 * Opens a URL in the system's browser, without waiting for the result. If there is no browser or no display, the printed
 * link can be used.
 */
export function openBrowser(url: string): void {
  const command = commandFor(url);
  if (command === undefined) return;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', (error) => process.stderr.write(`The browser could not be opened: ${error.message}.\n`));
  child.unref();
}

function commandFor(url: string): [string, ...string[]] | undefined {
  switch (process.platform) {
    case 'darwin':
      return ['open', url];
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler', url];
    default:
      // Without a display, a text browser would take over the terminal.
      return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined;
  }
}
