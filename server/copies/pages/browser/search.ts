/* Searches the static index of a copy: arrays of [id, title, more words], read part by part, newest first. */

/** The most results that are shown. */
const MOST = 100;
const KINDS = ['packs', 'studies', 'sources'] as const;
const NAMES = { packs: 'Pack', studies: 'Study', sources: 'Source' };

type Item = [id: string, title: string, words: string];

const byId = (id: string) => document.getElementById(id) as HTMLElement;
const status = byId('status');
const found = byId('found');
const field = byId('q') as HTMLInputElement;
const parts = new Map<string, Promise<Item[]>>();
/** Counts the searches, so that an older one stops when a newer one begins. */
let newest = 0;

/** Without case and accents. */
function folded(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

async function read<Content>(path: string): Promise<Content> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path} cannot be read (${answer.status}).`);
  return (await answer.json()) as Content;
}

function readPart(path: string): Promise<Item[]> {
  const known = parts.get(path);
  if (known) return known;
  const items = read<Item[]>(path);
  parts.set(path, items);
  items.catch(() => parts.delete(path));
  return items;
}

function show(target: string, title: string, more: string): void {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = target;
  link.textContent = title;
  const line = document.createElement('p');
  line.className = 'muted wrap';
  line.textContent = more;
  item.append(link, line);
  found.append(item);
}

/** Every word must begin a word of the item. */
function matches(text: string, words: readonly string[]): boolean {
  const all = ` ${folded(text).replace(/[^\p{L}\p{N}]+/gu, ' ')}`;
  return words.every((word) => all.includes(` ${word}`));
}

async function search(query: string, run: number): Promise<void> {
  found.replaceChildren();
  const digest = /^(sha256:)?([0-9a-f]{64})$/i.exec(query.trim())?.[2]?.toLowerCase();
  if (digest !== undefined) {
    status.textContent = 'If the copy holds an object with this digest, it is here:';
    show(`archive/${digest}`, digest, 'Stored bytes');
    const pack = `pk_${digest.slice(0, 20)}`;
    show(`packs/${pack}.html`, pack, 'The pack with this fingerprint, if there is one');
    return;
  }
  const words = folded(query)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  status.textContent = words.length === 0 ? '' : 'Searching…';
  if (words.length === 0) return;
  const counts = await read<Record<string, number>>('search/index.json');
  let shown = 0;
  let total = 0;
  for (const kind of KINDS) {
    for (let part = counts[kind] ?? 0; part > 0; part -= 1) {
      const items = await readPart(`search/${kind}-${part}.json`);
      if (run !== newest) return;
      for (const [id, title, more] of items.toReversed()) {
        if (!matches(`${title} ${more}`, words)) continue;
        total += 1;
        if (shown >= MOST) continue;
        show(`${kind}/${id}.html`, title, `${NAMES[kind]} · ${more.slice(0, 160)}`);
        shown += 1;
      }
    }
  }
  status.textContent =
    total === 0 ? 'Nothing found.' : `${total} found${total > shown ? `, ${shown} shown` : ''}.`;
}

function start(): void {
  newest += 1;
  search(field.value, newest).catch((error: unknown) => {
    status.textContent = `The search failed: ${error instanceof Error ? error.message : String(error)}`;
  });
}

byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  history.replaceState(null, '', field.value ? `?q=${encodeURIComponent(field.value)}` : location.pathname);
  start();
});
field.addEventListener('input', start);
field.value = new URLSearchParams(location.search).get('q') ?? '';
if (field.value) start();
