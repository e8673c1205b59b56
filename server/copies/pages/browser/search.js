'use strict';
/* Searches the static index of a copy: arrays of [id, title, more words], read part by part, newest first. */
(() => {
  /** The most results that are shown. */
  const MOST = 100;
  const KINDS = /** @type {const} */ (['packs', 'studies', 'sources']);
  const NAMES = { packs: 'Pack', studies: 'Study', sources: 'Source' };

  /** @param {string} id @returns {HTMLElement} */
  const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const said = byId('said');
  const found = byId('found');
  const field = /** @type {HTMLInputElement} */ (byId('q'));
  /** @type {Map<string, Promise<[string, string, string][]>>} */
  const parts = new Map();
  /** Counts the searches, so that an older one stops when a newer one begins. */
  let newest = 0;

  /** Without case and accents. @param {string} text */
  const folded = (text) =>
    text
      .normalize('NFD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase();

  /** @param {string} path @returns {Promise<unknown>} */
  const read = async (path) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`${path} cannot be read (${answer.status}).`);
    return answer.json();
  };

  /** @param {string} path */
  const readPart = (path) => {
    const known = parts.get(path);
    if (known) return known;
    const items = /** @type {Promise<[string, string, string][]>} */ (read(path));
    parts.set(path, items);
    items.catch(() => parts.delete(path));
    return items;
  };

  /** @param {string} target @param {string} title @param {string} more */
  const show = (target, title, more) => {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = target;
    link.textContent = title;
    const line = document.createElement('p');
    line.className = 'muted wrap';
    line.textContent = more;
    item.append(link, line);
    found.append(item);
  };

  /** Every word must begin a word of the item. @param {string} text @param {string[]} words */
  const matches = (text, words) => {
    const all = ` ${folded(text).replace(/[^\p{L}\p{N}]+/gu, ' ')}`;
    return words.every((word) => all.includes(` ${word}`));
  };

  /** @param {string} query @param {number} run */
  const search = async (query, run) => {
    found.replaceChildren();
    const digest = /^(sha256:)?([0-9a-f]{64})$/i.exec(query.trim())?.[2]?.toLowerCase();
    if (digest !== undefined) {
      said.textContent = 'If the copy holds an object with this digest, it is here:';
      show(`archive/${digest}`, digest, 'Stored bytes');
      show(
        `packs/pk_${digest.slice(0, 20)}.html`,
        `pk_${digest.slice(0, 20)}`,
        'The pack, if it is the fingerprint of one',
      );
      return;
    }
    const words = folded(query)
      .split(/[^\p{L}\p{N}]+/u)
      .filter(Boolean);
    if (words.length === 0) return void (said.textContent = '');
    said.textContent = 'Searching…';
    const counts = /** @type {Record<string, number>} */ (await read('search/index.json'));
    let shown = 0;
    let total = 0;
    for (const kind of KINDS) {
      for (let part = counts[kind] ?? 0; part > 0; part -= 1) {
        const items = await readPart(`search/${kind}-${part}.json`);
        if (run !== newest) return;
        for (const [id, title, more] of items.toReversed()) {
          if (!matches(`${title} ${more}`, words)) continue;
          total += 1;
          if (shown < MOST) {
            show(`${kind}/${id}.html`, title, `${NAMES[kind]} · ${more.slice(0, 160)}`);
            shown += 1;
          }
        }
      }
    }
    said.textContent =
      total === 0 ? 'Nothing found.' : `${total} found${total > shown ? `, ${shown} shown` : ''}.`;
  };

  const start = () => {
    newest += 1;
    search(field.value, newest).catch((error) => {
      said.textContent = `The search failed: ${error instanceof Error ? error.message : error}`;
    });
  };

  byId('search').addEventListener('submit', (event) => {
    event.preventDefault();
    history.replaceState(null, '', field.value ? `?q=${encodeURIComponent(field.value)}` : location.pathname);
    start();
  });
  field.addEventListener('input', start);
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  if (field.value) start();
})();
