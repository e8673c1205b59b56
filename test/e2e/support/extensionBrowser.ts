import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type BrowserContext, chromium, expect, type Page, type Worker } from '@playwright/test';
import { chromiumLaunchOptions } from '../../support/chromium.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const EXTENSION = resolve(import.meta.dirname, '../../../out/extension');

/** A real Chromium with the built extension and a profile of its own, which stays when it is started again. */
export class ExtensionBrowser {
  readonly #folder: string;
  readonly #extension: string;
  #context: BrowserContext | undefined;

  private constructor(folder: string, extension: string) {
    this.#folder = folder;
    this.#extension = extension;
  }

  /** @param allowed permissions that the person has allowed: nothing can press the button in the browser's question */
  static async open(allowed: readonly string[] = []): Promise<ExtensionBrowser> {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-extension-'));
    const extension = join(folder, 'extension');
    await cp(EXTENSION, extension, { recursive: true });
    const file = join(extension, 'manifest.json');
    const manifest = JSON.parse(await readFile(file, 'utf8')) as { permissions: string[] };
    await writeFile(
      file,
      JSON.stringify({ ...manifest, permissions: [...manifest.permissions, ...allowed] }),
    );
    const opened = new ExtensionBrowser(folder, extension);
    await opened.start();
    return opened;
  }

  async start(): Promise<void> {
    const { executablePath = '', args = [] } = chromiumLaunchOptions();
    this.#context = await chromium.launchPersistentContext(join(this.#folder, 'profile'), {
      executablePath,
      // The old headless mode, which Playwright asks for, has no extensions.
      headless: false,
      ignoreDefaultArgs: ['--disable-extensions'],
      args: [
        ...args,
        '--headless=new',
        `--disable-extensions-except=${this.#extension}`,
        `--load-extension=${this.#extension}`,
        // For the command that clicks the button in the toolbar.
        '--enable-unsafe-extension-debugging',
      ],
    });
    await this.worker();
  }

  async stop(): Promise<void> {
    await this.#context?.close();
    this.#context = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get context(): BrowserContext {
    if (!this.#context) throw new Error('The browser is not running.');
    return this.#context;
  }

  async worker(): Promise<Worker> {
    return this.context.serviceWorkers()[0] ?? (await this.context.waitForEvent('serviceworker'));
  }

  /** Stops the worker, as the browser does when it is idle. */
  async stopWorker(): Promise<void> {
    const browser = await this.context.browser()?.newBrowserCDPSession();
    if (!browser) throw new Error('The browser has no protocol.');
    const asked = browser as unknown as RawSession;
    const url = (await this.worker()).url();
    const { targetInfos } = await asked.send('Target.getTargets', {});
    const worker = targetInfos.find((target) => target.url === url);
    await asked.send('Target.closeTarget', { targetId: worker?.targetId });
  }

  async id(): Promise<string> {
    return new URL((await this.worker()).url()).host;
  }

  async open(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    await page.bringToFront();
    return page;
  }

  /** The options, which open by themselves when the extension is installed. */
  async options(): Promise<Page> {
    const opened = () => this.context.pages().find((page) => page.url().endsWith('/options.html'));
    await expect.poll(opened).toBeDefined();
    const options = opened();
    if (!options) throw new Error('The options were closed.');
    await options.bringToFront();
    return options;
  }

  /** Enters in the options what the owner reads in the settings of the node. */
  async sendCode(address: string, code: string): Promise<Page> {
    const options = await this.options();
    await options.getByLabel('Address').fill(address);
    await options.getByLabel('Code').fill(code);
    await options.getByRole('button', { name: 'Pair', exact: true }).click();
    return options;
  }

  async pair(address: string, code: string): Promise<Page> {
    const options = await this.sendCode(address, code);
    await expect(options.getByText('Paired. ')).toBeVisible();
    return options;
  }

  /** Clicks the button in the toolbar, as a person does: the extension may then read this tab, and its popup opens. */
  async click(page: Page): Promise<Popup> {
    const browser = await this.context.browser()?.newBrowserCDPSession();
    if (!browser) throw new Error('The browser has no protocol.');
    const asked = browser as unknown as RawSession;
    const { targetInfos } = await asked.send('Target.getTargets', { filter: [{ type: 'tab' }] });
    const tab = targetInfos.find(({ url }) => url === page.url());
    await asked.send('Extensions.triggerAction', { id: await this.id(), targetId: tab?.targetId });
    let popup: TargetInfo | undefined;
    await expect(async () => {
      const found = await asked.send('Target.getTargets', {});
      popup = found.targetInfos.find(({ url }) => url.endsWith('/popup.html'));
      expect(popup).toBeDefined();
    }).toPass();
    return Popup.attach(asked, popup?.targetId ?? '');
  }
}

interface TargetInfo {
  targetId: string;
  url: string;
}

/** Commands that Playwright has no types for. */
interface RawSession {
  send(method: string, params: object): Promise<{ targetInfos: TargetInfo[]; sessionId: string }>;
  on(event: string, listener: (received: { sessionId: string; message: string }) => void): void;
}

/** The popup of the extension. Playwright does not know it as a page, so it is driven over the protocol. */
export class Popup {
  readonly #session: RawSession;
  readonly #id: string;
  readonly #target: string;
  readonly #waiting = new Map<number, (result: { data?: string; result?: { value?: unknown } }) => void>();
  #next = 1;

  private constructor(session: RawSession, id: string, target: string) {
    this.#session = session;
    this.#id = id;
    this.#target = target;
    session.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => {
      const answer = JSON.parse(message) as { id?: number; result: object };
      if (sessionId === id && answer.id !== undefined) this.#waiting.get(answer.id)?.(answer.result);
    });
  }

  static async attach(session: RawSession, target: string): Promise<Popup> {
    const { sessionId } = await session.send('Target.attachToTarget', { targetId: target, flatten: false });
    return new Popup(session, sessionId, target);
  }

  async #send(method: string, params: object): Promise<{ data?: string; result?: { value?: unknown } }> {
    const id = this.#next++;
    const answered = new Promise<{ data?: string; result?: { value?: unknown } }>((found) =>
      this.#waiting.set(id, found),
    );
    const message = JSON.stringify({ id, method, params });
    await this.#session.send('Target.sendMessageToTarget', { sessionId: this.#id, message });
    return answered;
  }

  /** Evaluates an expression in the popup. */
  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#send('Runtime.evaluate', {
      expression,
      userGesture: true,
      awaitPromise: true,
      returnByValue: true,
    });
    return result?.value;
  }

  async expectText(text: string | RegExp): Promise<void> {
    await expect.poll(() => this.evaluate('document.body.innerText')).toMatch(text);
  }

  /** Sets a field as a person does. */
  async set(name: string, value: string): Promise<void> {
    await this.evaluate(`{
      const field = document.querySelector('[name=${name}]');
      field.value = ${JSON.stringify(value)};
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }`);
  }

  async press(button: string): Promise<void> {
    await this.evaluate(
      `[...document.querySelectorAll('button')].find((each) => each.textContent === ${JSON.stringify(button)}).click()`,
    );
  }

  async close(): Promise<void> {
    await this.#session.send('Target.closeTarget', { targetId: this.#target });
  }

  /** Returns what violates the accessibility rules. */
  async violations(): Promise<unknown> {
    await this.evaluate(AXE);
    return this.evaluate(
      'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + html)))',
    );
  }

  async screenshot(): Promise<Buffer> {
    const { data = '' } = await this.#send('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(data, 'base64');
  }
}

/** An address that is the node's while it is on, and where nothing listens while it is off. */
export class Relay {
  readonly #target: number;
  #server: Server | undefined;
  #port = 0;
  readonly #sockets = new Set<{ destroy(): void }>();
  #delay: PromiseWithResolvers<void> | undefined;
  /** What was sent to the node. */
  readonly asked: Buffer[] = [];

  constructor(url: string) {
    this.#target = Number(new URL(url).port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async turnOn(): Promise<void> {
    this.#server = createServer((socket) => {
      const node = connect(this.#target, '127.0.0.1');
      for (const each of [socket, node]) {
        this.#sockets.add(each);
        each.on('error', () => each.destroy()).on('close', () => this.#sockets.delete(each));
      }
      socket.on('data', (asked: Buffer) => {
        this.asked.push(asked);
        void (this.#delay?.promise ?? Promise.resolve()).then(() => node.write(asked));
      });
      node.pipe(socket);
    }).listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    this.#port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Keeps what is asked from now on from the node, until `answer`. */
  delay(): void {
    this.#delay = Promise.withResolvers();
  }

  answer(): void {
    this.#delay?.resolve();
    this.#delay = undefined;
  }

  async turnOff(): Promise<void> {
    const closed = this.#server && once(this.#server, 'close');
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#server = undefined;
  }
}
