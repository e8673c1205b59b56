import type { PopupMessage, PopupState, ShownEntry } from './background.ts';

/*
 * The popup of the button. Opening it archives the page at once. Unless the person adds something, it is sent after a
 * moment, or when the popup is closed.
 */

/** As long as the line in the popup needs to run out (style.css). */
const MOMENT_MS = 4_000;
const STAY_MS = 15_000;

const form = element('page', HTMLFormElement);
const note = field('note', HTMLTextAreaElement);
const chosen = field('case', HTMLSelectElement);
const isQuoted = field('isQuoted', HTMLInputElement);
let port = connected();
let archived: number | null = null;
let moment: ReturnType<typeof setTimeout> | undefined;
let wasSent = false;

setInterval(() => post({ kind: 'stay' }), STAY_MS);

form.addEventListener('input', () => {
  post({ kind: 'change', note: note.value, case: chosen.value, isQuoted: isQuoted.checked });
});
// Whoever looks closer is not hurried.
for (const event of ['focusin', 'pointerdown', 'keydown', 'input']) form.addEventListener(event, endMoment);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  send();
  if (element('send', HTMLButtonElement).textContent === 'Done') window.close();
});
element('discard', HTMLButtonElement).addEventListener('click', () => {
  endMoment();
  if (archived !== null) post({ kind: 'discard', id: archived });
  window.close();
});
for (const id of ['options', 'pair'])
  element(id, HTMLButtonElement).addEventListener('click', () => void chrome.runtime.openOptionsPage());

const [clicked] = await chrome.tabs.query({ active: true, currentWindow: true });
if (clicked?.id !== undefined) post({ kind: 'archive', tabId: clicked.id });

/** Connects with the worker, again if the browser stopped it, so that nothing that is typed from now on is lost. */
function connected(): chrome.Port {
  const opened = chrome.runtime.connect({ name: 'popup' });
  opened.onMessage.addListener((state) => show(state as PopupState));
  opened.onDisconnect.addListener(() => {
    port = connected();
    if (archived !== null && !wasSent) post({ kind: 'resume', id: archived });
  });
  return opened;
}

function show(state: PopupState): void {
  const { connection, node, isArchiving, error, cases } = state;
  const isFirst = archived === null && state.archived !== null;
  archived = state.archived;
  const page = state.entries.find(({ id }) => id === archived);
  if (isFirst && page) fill(page);
  offer(cases, page);
  form.hidden = !page || wasSent;
  showStatus(state, page);
  const isSendable = node !== null && connection === 'on';
  element('send', HTMLButtonElement).textContent = isSendable ? 'Send now' : 'Done';
  element('pair', HTMLButtonElement).hidden = node !== null && connection !== 'revoked';
  showWaiting(state.entries.filter((entry) => wasSent || entry !== page));
  if (isFirst && !isArchiving && error === '') startMoment();
  if (!isSendable) element('moment', HTMLDivElement).hidden = true;
}

function fill({ quote = '' }: ShownEntry): void {
  element('quoted', HTMLFieldSetElement).hidden = quote === '';
  element('quote', HTMLQuoteElement).textContent = quote;
}

/** The node tells its cases while the popup is open. What was chosen stays chosen. */
function offer(cases: PopupState['cases'], page: ShownEntry | undefined): void {
  const wanted = chosen.value || (page?.case ?? '');
  const known = [...chosen.options].map(({ value }) => value).filter(Boolean);
  if (known.join() !== cases.map(({ id }) => id).join())
    chosen.replaceChildren(new Option('None', ''), ...cases.map(({ id, title }) => new Option(title, id)));
  chosen.value = wanted;
  if (chosen.value !== wanted) chosen.value = '';
}

function showStatus(state: PopupState, page: ShownEntry | undefined): void {
  const { node, connection, isArchiving, error } = state;
  const status = element('status', HTMLParagraphElement);
  const detail = element('detail', HTMLParagraphElement);
  const [text, kind, more] = ((): [string, string, string?] => {
    if (error !== '') return [error, 'bad'];
    if (isArchiving || archived === null) return ['Saving this page…', ''];
    if (!page) return [`In the archive of ${node ?? 'your node'}.`, 'good'];
    if (page.isRefused) return ['Your node did not take this page.', 'bad', page.error];
    if (connection === 'revoked')
      return [
        'This browser is not paired any more.',
        'bad',
        'The page is kept here. Pair again, and it is sent.',
      ];
    if (connection === 'stranger')
      return [
        'Another program answers at the address of your node.',
        'bad',
        'Nothing is sent to it. The page is kept here.',
      ];
    if (node === null) return ['Saved in this browser.', '', 'Pair it with your node, and the page is sent.'];
    if (connection === 'off')
      return [
        'Saved. Your node does not answer.',
        '',
        'The page waits here, and is sent when the node is back.',
      ];
    return [wasSent ? 'Sending…' : 'Saved.', wasSent ? '' : 'good', incomplete(page)];
  })();
  status.textContent = text;
  status.className = `status ${kind}`;
  detail.textContent = more ?? '';
  detail.hidden = !more;
}

function incomplete({ missing = 0, hasPicture = true }: ShownEntry): string {
  const parts = missing === 1 ? '1 part' : `${missing} parts`;
  return [
    ...(missing > 0 ? [`${parts} of it could not be read; see Options, Whole pages.`] : []),
    ...(hasPicture ? [] : ['There is no picture: the browser did not take one.']),
  ].join(' ');
}

function showWaiting(entries: readonly ShownEntry[]): void {
  element('waiting', HTMLElement).hidden = entries.length === 0;
  element('waiting-title', HTMLElement).textContent = `Waiting: ${entries.length}`;
  element('entries', HTMLUListElement).replaceChildren(...entries.map(listed));
}

function listed({ id, kind, url, error, isRefused }: ShownEntry): HTMLLIElement {
  const item = document.createElement('li');
  const address = document.createElement('span');
  address.className = 'address';
  address.title = url;
  address.textContent = kind === 'watch' ? `Watch ${url}` : url;
  item.append(address);
  if (error !== '') {
    const why = document.createElement('span');
    why.className = isRefused ? 'muted bad' : 'muted';
    why.textContent = error;
    item.append(why);
  }
  if (isRefused) {
    const actions = document.createElement('div');
    actions.className = 'actions';
    actions.append(
      button('Try again', url, () => post({ kind: 'retry', id })),
      button('Discard', url, () => post({ kind: 'discard', id })),
    );
    item.append(actions);
  }
  return item;
}

function button(text: string, url: string, onClick: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = 'quiet';
  made.textContent = text;
  made.setAttribute('aria-label', `${text}: ${url}`);
  made.addEventListener('click', onClick);
  return made;
}

function startMoment(): void {
  element('moment', HTMLDivElement).hidden = false;
  moment = setTimeout(send, MOMENT_MS);
}

function endMoment(): void {
  clearTimeout(moment);
  element('moment', HTMLDivElement).hidden = true;
}

function send(): void {
  endMoment();
  wasSent = true;
  form.hidden = true;
  post({ kind: 'send' });
}

function post(message: PopupMessage): void {
  port.postMessage(message);
}

function element<Kind extends HTMLElement>(id: string, kind: abstract new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new TypeError(`The page has no ${id}.`);
  return found;
}

function field<Kind extends HTMLElement>(name: string, kind: abstract new () => Kind): Kind {
  const found = form.elements.namedItem(name);
  if (!(found instanceof kind)) throw new TypeError(`The form has no ${name}.`);
  return found;
}
