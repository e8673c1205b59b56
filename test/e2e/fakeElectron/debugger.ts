import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { PipeConnection } from '../../../server/browser/protocol.ts';
import { chromiumLaunchOptions } from '../../support/chromium.ts';
import { app } from './app.ts';
import type { Session } from './system.ts';

/** One Chromium for the hidden windows, with no network but the proxies of their sessions. */
let started: PipeConnection | undefined;

function chromium(): PipeConnection {
  if (started) return started;
  const { executablePath = '', args = [] } = chromiumLaunchOptions();
  const rules = app.switches.get('host-resolver-rules');
  const child: ChildProcess = spawn(
    executablePath,
    [
      ...args,
      '--headless=new',
      '--remote-debugging-pipe',
      `--user-data-dir=${join(app.getPath('userData'), 'chromium')}`,
      ...(rules === undefined ? [] : [`--host-resolver-rules=${rules}`]),
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  process.on('exit', () => child.kill('SIGKILL'));
  started = new PipeConnection(child.stdio[3] as Writable, child.stdio[4] as Readable);
  return started;
}

/** The DevTools protocol of one hidden window, as `webContents.debugger`: the session of the window has the id ''. */
export class Debugger extends EventEmitter {
  readonly #session: Session;
  #tab: Promise<{ context: string; root: string }> | undefined;
  readonly #sessions = new Set<string>();
  #stopListening: () => void = () => {};

  constructor(session: Session) {
    super();
    this.#session = session;
  }

  attach(_version: string): void {
    if (this.#tab) throw new TypeError('Debugger is already attached to the target');
    this.#tab = this.#open();
  }

  async sendCommand(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
    if (!this.#tab) throw new Error('No target available');
    if (sessionId === '') throw new Error('Empty session id is not allowed');
    const { root } = await this.#tab;
    try {
      return await chromium().send(method, { ...params }, sessionId ?? root);
    } catch (error) {
      // Electron's errors have the message of the browser only.
      throw new Error(error instanceof Error ? error.message.replace(`${method}: `, '') : String(error));
    }
  }

  /** Closes the window, as `BrowserWindow.destroy` does. */
  async end(): Promise<void> {
    const tab = this.#tab;
    this.#tab = undefined;
    if (!tab) return;
    this.emit('detach', {}, 'target closed');
    const { context } = await tab;
    this.#stopListening();
    await chromium().send('Target.disposeBrowserContext', { browserContextId: context });
  }

  async #open(): Promise<{ context: string; root: string }> {
    const { proxy } = this.#session;
    const { browserContextId } = await chromium().send('Target.createBrowserContext', {
      ...(proxy && { proxyServer: proxy.proxyRules, proxyBypassList: proxy.proxyBypassRules }),
    });
    const { targetId } = await chromium().send('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    });
    const { sessionId } = await chromium().send('Target.attachToTarget', { targetId, flatten: true });
    const root = String(sessionId);
    this.#sessions.add(root);
    this.#stopListening = chromium().listen((event) => {
      if (!this.#sessions.has(event.sessionId)) return;
      if (event.method === 'Target.attachedToTarget') this.#sessions.add(String(event.params.sessionId));
      const id = event.sessionId === root ? '' : event.sessionId;
      this.emit('message', {}, event.method, event.params, id);
    });
    return { context: String(browserContextId), root };
  }
}
