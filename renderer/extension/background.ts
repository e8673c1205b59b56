import { archiveTab, CannotArchiveError } from './archive.ts';
import {
  type Connection,
  protectStorage,
  readConnection,
  readLastCase,
  readPairing,
  saveLastCase,
} from './node.ts';
import {
  addEntry,
  changeEntry,
  deliver,
  hold,
  listEntries,
  QueueFullError,
  release,
  removeEntry,
} from './queue.ts';

/*
 * The worker of the extension. The browser starts it for each of these events and stops it when it is idle, so that it keeps
 * nothing in memory that may not be lost.
 */

const ARCHIVE = 'archive';
const WATCH = 'watch';
const PAGES = ['http://*/*', 'https://*/*'];

chrome.runtime.onInstalled.addListener(() => {
  void (async () => {
    await chrome.contextMenus.removeAll();
    chrome.contextMenus.create({ id: ARCHIVE, title: 'Archive this page', contexts: ['page', 'selection'] });
    chrome.contextMenus.create({
      id: WATCH,
      title: 'Watch this link',
      contexts: ['link'],
      targetUrlPatterns: PAGES,
    });
    await protectStorage();
    if (!(await readPairing())) await chrome.runtime.openOptionsPage();
  })();
});

chrome.contextMenus.onClicked.addListener(({ menuItemId, linkUrl }, tab) => {
  void (async () => {
    if (menuItemId === WATCH && linkUrl !== undefined)
      await addEntry({ kind: 'watch', url: linkUrl, seenAt: new Date().toISOString() });
    else if (menuItemId === ARCHIVE && tab) await archiveTab(tab);
    await deliver();
  })().catch(sayAtButton);
});

/** A menu has no place for words: they are at the button. */
async function sayAtButton(error: unknown): Promise<void> {
  // What is sent at the same time, such as by a worker that was just started, says at the button how much waits.
  await deliver();
  await chrome.action.setBadgeText({ text: '!' });
  await chrome.action.setTitle({ title: wordsOf(error) });
}

function wordsOf(error: unknown): string {
  const isForPerson = error instanceof CannotArchiveError || error instanceof QueueFullError;
  return isForPerson ? error.message : `This could not be saved. ${String(error)}`;
}

chrome.runtime.onStartup.addListener(() => void deliver());
chrome.alarms.onAlarm.addListener(() => void deliver());

chrome.runtime.onConnect.addListener((port) => {
  // Only the own pages connect: no page and no other extension.
  if (!port.sender?.url?.startsWith(chrome.runtime.getURL(''))) return;
  if (port.name === 'paired') void deliver();
  if (port.name !== 'popup') return;
  const popup = new Popup(port);
  port.onMessage.addListener((message) => void popup.receive(message as PopupMessage));
  port.onDisconnect.addListener(() => void popup.close());
});

/** One opened popup. Its page is archived at once, and is sent when the person has had a moment to add to it. */
class Popup {
  readonly #port: chrome.Port;
  #isOpen = true;
  #id: number | undefined;
  #error = '';
  #isArchiving = false;
  /** Changes are made one after the other, in the order in which they were typed. */
  #changes: Promise<void> = Promise.resolve();

  constructor(port: chrome.Port) {
    this.#port = port;
  }

  receive(message: PopupMessage): Promise<void> {
    // A change that failed does not hold up the next.
    const handle = () => this.#handle(message);
    this.#changes = this.#changes.then(handle, handle);
    return this.#changes;
  }

  /** The popup was closed: what it archived is sent. */
  close(): Promise<void> {
    this.#isOpen = false;
    return this.receive({ kind: 'send' });
  }

  async #handle(message: PopupMessage): Promise<void> {
    if (message.kind === 'stay') return;
    if (message.kind === 'archive') await this.#archive(message.tabId);
    else if (message.kind === 'resume') this.#resume(message.id);
    else if (message.kind === 'change') await this.#change(message);
    else if (message.kind === 'discard') await this.#drop(message.id);
    else if (message.kind === 'retry') await changeEntry(message.id, { isRefused: false, error: '' });
    if (message.kind === 'send' || message.kind === 'retry') await this.#send();
    await this.#show();
  }

  async #archive(tabId: number): Promise<void> {
    this.#isArchiving = true;
    await this.#show();
    try {
      this.#id = await archiveTab(await chrome.tabs.get(tabId));
      hold(this.#id);
      const last = await readLastCase();
      const { cases } = await readConnection();
      if (cases.some(({ id }) => id === last)) await changeEntry(this.#id, { case: last ?? '' });
    } catch (error) {
      this.#error = wordsOf(error);
    } finally {
      this.#isArchiving = false;
    }
    // Shows what waits and asks for the cases, while this page is held.
    void deliver().then(() => this.#show());
  }

  #resume(id: number): void {
    this.#id = id;
    hold(id);
  }

  async #change({ note, case: chosen, isQuoted }: PopupMessage & { kind: 'change' }): Promise<void> {
    if (this.#id === undefined) return;
    await changeEntry(this.#id, { note, case: chosen, isQuoted });
    await saveLastCase(chosen);
  }

  async #drop(id: number): Promise<void> {
    release(id);
    await removeEntry(id);
    if (id === this.#id) this.#id = undefined;
    void deliver();
  }

  async #send(): Promise<void> {
    if (this.#id !== undefined) release(this.#id);
    await deliver();
  }

  async #show(): Promise<void> {
    if (!this.#isOpen) return;
    const [pairing, connection, entries] = await Promise.all([
      readPairing(),
      readConnection(),
      listEntries(),
    ]);
    if (!this.#isOpen) return;
    const state: PopupState = {
      node: pairing?.node ?? null,
      connection: connection.state,
      cases: connection.cases,
      isArchiving: this.#isArchiving,
      error: this.#error,
      archived: this.#id ?? null,
      entries: entries.map((entry) => ({
        id: entry.id,
        kind: entry.kind,
        url: entry.url,
        error: entry.error,
        isRefused: entry.isRefused,
        ...(entry.kind === 'page' && {
          quote: entry.quote?.exact ?? '',
          case: entry.case,
          missing: entry.missing,
          hasPicture: entry.picture !== null,
        }),
      })),
    };
    this.#port.postMessage(state);
  }
}

void deliver();

/** What the popup asks of the worker. */
export type PopupMessage =
  | { kind: 'archive'; tabId: number }
  /** The worker was stopped while the person looked at the page that was archived: the new one keeps it back, too. */
  | { kind: 'resume'; id: number }
  /** The person is still there. The browser stops a worker that hears nothing for half a minute. */
  | { kind: 'stay' }
  /** What the person added to the page that was just archived. */
  | { kind: 'change'; note: string; case: string; isQuoted: boolean }
  | { kind: 'send' }
  | { kind: 'discard'; id: number }
  | { kind: 'retry'; id: number };

/** What the popup shows. */
export interface PopupState {
  /** The name of the paired node; null if there is none. */
  node: string | null;
  connection: Connection['state'];
  cases: Connection['cases'];
  isArchiving: boolean;
  /** Why the page could not be archived; empty if it was. */
  error: string;
  /** The entry of the page that was just archived, which may have been sent since; null if there is none. */
  archived: number | null;
  entries: ShownEntry[];
}

export interface ShownEntry {
  id: number;
  kind: 'page' | 'watch';
  url: string;
  error: string;
  isRefused: boolean;
  quote?: string;
  case?: string;
  missing?: number;
  hasPicture?: boolean;
}
