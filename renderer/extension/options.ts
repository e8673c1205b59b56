import { savesWholePages, setWholePages } from './archive.ts';
import {
  forgetPairing,
  NodeError,
  nodeAddress,
  pair,
  protectStorage,
  readConnection,
  readPairing,
  savePairing,
} from './node.ts';
import { listEntries } from './queue.ts';

/* The options: with which node this browser is paired, and how pages are saved. */

const form = byId('pairing') as HTMLFormElement;
const whole = byId('whole') as HTMLInputElement;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void pairNow();
});
byId('forget').addEventListener('click', () => {
  void forgetPairing().then(show);
});
whole.addEventListener('change', () => {
  void setWholePages(whole.checked).then((isAllowed) => {
    whole.checked = isAllowed;
  });
});

await protectStorage();
valueOf('name').value = browserName();
// Firefox saves no pages for extensions.
byId('whole-section').hidden = navigator.userAgent.includes('Firefox/');
whole.checked = await savesWholePages();
await show();

async function pairNow(): Promise<void> {
  const submit = form.querySelector('button');
  if (submit) submit.disabled = true;
  say('Pairing…');
  try {
    const address = nodeAddress(valueOf('address').value);
    await savePairing(await pair(address, valueOf('code').value, valueOf('name').value.trim()));
    valueOf('code').value = '';
    await show();
    const waiting = (await listEntries()).length;
    say(
      waiting > 0
        ? `Paired. What waits (${waiting}) is sent now.`
        : 'Paired. Click the button of Strongroom on any page.',
    );
    // The worker sends what waits when it is called.
    chrome.runtime.connect({ name: 'paired' });
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    say(error.message, 'bad');
  } finally {
    if (submit) submit.disabled = false;
  }
}

async function show(): Promise<void> {
  const [pairing, { state }] = await Promise.all([readPairing(), readConnection()]);
  const isPaired = pairing !== undefined && state !== 'revoked';
  byId('paired').hidden = !isPaired;
  form.hidden = isPaired;
  byId('node').textContent = pairing?.node ?? '';
  byId('at').textContent = pairing?.address ?? '';
  if (pairing) valueOf('address').value = pairing.address;
  say(
    state === 'revoked' && pairing ? 'The pairing was ended in Strongroom. Pair again with a new code.' : '',
  );
}

function say(text: string, kind = ''): void {
  const status = byId('status');
  status.textContent = text;
  status.className = kind;
}

/** A name by which the owner recognizes this browser in the list. */
function browserName(): string {
  const agent = navigator.userAgent;
  const names: [RegExp, string][] = [
    [/Edg\//, 'Edge'],
    [/OPR\//, 'Opera'],
    [/Firefox\//, 'Firefox'],
    [/Chrome\//, 'Chrome'],
  ];
  const systems: [RegExp, string][] = [
    [/Windows/, 'Windows'],
    [/Mac OS X/, 'macOS'],
    [/Linux/, 'Linux'],
  ];
  const nameIn = (list: typeof names) => list.find(([pattern]) => pattern.test(agent))?.[1];
  return [nameIn(names) ?? 'Browser', nameIn(systems)].filter(Boolean).join(' on ');
}

function valueOf(name: string): HTMLInputElement {
  return form.elements.namedItem(name) as HTMLInputElement;
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new TypeError(`The page has no ${id}.`);
  return found;
}
