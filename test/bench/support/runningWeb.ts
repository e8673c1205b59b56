import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface RunningWeb {
  url: string;
  stop(): Promise<void>;
}

const WEB = fileURLToPath(new URL('web.ts', import.meta.url));

/** Starts the web server of `web.ts` in its own process, with pages of this size. */
export async function startWeb(bytes: number): Promise<RunningWeb> {
  const child = spawn(process.execPath, [WEB, String(bytes)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
