'use strict';
/*
 * Verifies, in the browser, files against the digests of a copy, and an entry of the ledger: its inclusion in the signed
 * checkpoint, what it records, and the objects that the record names. Reads only files of the copy.
 */
(() => {
  const TILE_WIDTH = 256;
  const RECORDS_PER_FILE = 1_000;

  /** @param {string} id @returns {HTMLElement} */
  const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  /** @param {Uint8Array} left @param {Uint8Array} right */
  const parent = (left, right) => sha256(Uint8Array.of(1), left, right);

  /** @param {string} path */
  const read = async (path) => {
    const answer = await fetch(path, { cache: 'no-cache' });
    if (!answer.ok) throw new Error(`${path} cannot be read (${answer.status}).`);
    return answer;
  };

  /** @param {ReadableStream<Uint8Array>} stream @param {(bytes: number) => void} onBytes */
  const hashOf = async (stream, onBytes) => {
    const hash = new Sha256();
    const reader = stream.getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return hex(hash.digest());
      hash.update(value);
      bytes += value.length;
      onBytes(bytes);
    }
  };

  /**
   * Adds a claim to a list, and returns how it turned out, to be called as often as that changes.
   *
   * @param {HTMLElement} list @param {string} claim
   * @returns {(verdict: '' | 'holds' | 'fails' | 'claimed', words: string) => HTMLElement}
   */
  const addClaim = (list, claim) => {
    const item = document.createElement('li');
    const result = document.createElement('p');
    item.append(claim, result);
    list.append(item);
    return (verdict, words) => {
      const sign = { '': '', holds: '✓ ', fails: '✕ ', claimed: '? ' }[verdict];
      result.className = verdict;
      result.textContent = sign + words;
      return item;
    };
  };

  /** @param {File} file */
  const checkFile = async (file) => {
    const say = addClaim(byId('hashed'), file.name);
    try {
      const digest = await hashOf(file.stream(), (bytes) =>
        say('', `${Math.floor((bytes / Math.max(1, file.size)) * 100)} % hashed`),
      );
      const isHeld = (await fetch(`archive/${digest}`, { method: 'HEAD' })).ok;
      if (!isHeld) return void say('claimed', `${digest}: no object of this copy has this digest.`);
      const link = document.createElement('a');
      link.href = `archive/${digest}`;
      link.download = file.name;
      link.textContent = 'the stored object';
      say('holds', `${digest}: this copy holds the same bytes, `).lastElementChild?.append(link);
    } catch (error) {
      say('fails', error instanceof Error ? error.message : String(error));
    }
  };

  /** @typedef {{ size: number, root: string, text: string, signatures: string[] }} Checkpoint */

  /** @returns {Promise<Checkpoint>} */
  const readCheckpoint = async () => {
    const note = await (await read('checkpoint')).text();
    const end = note.lastIndexOf('\n\n');
    const [, size, root = ''] = note.split('\n');
    const signatures = note.slice(end + 2).split('\n');
    return { size: Number(size), root, text: note.slice(0, end + 1), signatures };
  };

  /**
   * Whether a key signed a checkpoint (C2SP signed-note, Ed25519); undefined if this browser cannot tell.
   *
   * @param {Checkpoint} checkpoint @param {string} verifierKey
   */
  const isSigned = async ({ text, signatures }, verifierKey) => {
    const [name = '', , ...encoded] = verifierKey.split('+');
    const key = fromBase64(encoded.join('+')).slice(1);
    const line = signatures.find((each) => each.startsWith(`— ${name} `));
    if (line === undefined) return false;
    const signature = fromBase64(line.slice(name.length + 3)).slice(4);
    try {
      const imported = await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']);
      return await crypto.subtle.verify('Ed25519', imported, signature, utf8(text));
    } catch {
      return undefined;
    }
  };

  /** The path of a tile (C2SP tlog-tiles). @param {string | number} level @param {number} index @param {number} width */
  const tilePath = (level, index, width) => {
    const digits = String(index);
    const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
    const number = groups.map((group, place) => (place < groups.length - 1 ? `x${group}` : group)).join('/');
    return `tile/${level}/${number}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
  };

  /** The bytes of an entry, from the tile that has it. @param {number} seq @param {number} size */
  const readEntry = async (seq, size) => {
    const index = Math.floor((seq - 1) / TILE_WIDTH);
    const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH);
    const tile = new Uint8Array(await (await read(tilePath('entries', index, width))).arrayBuffer());
    let at = 0;
    for (let skipped = index * TILE_WIDTH + 1; ; skipped += 1) {
      const length = ((tile[at] ?? 0) << 8) | (tile[at + 1] ?? 0);
      if (skipped === seq) return tile.slice(at + 2, at + 2 + length);
      at += 2 + length;
    }
  };

  /** The root of the tree (RFC 6962) with a leaf at a place, and all other hashes from the tiles. */
  class Tree {
    /** @type {Map<string, Promise<Uint8Array>>} */
    #tiles = new Map();

    /** @param {number} size @param {number} place @param {Uint8Array} leaf */
    constructor(size, place, leaf) {
      this.size = size;
      this.place = place;
      this.leaf = leaf;
    }

    /** @param {number} [start] @param {number} [end] @returns {Promise<Uint8Array>} */
    async root(start = 0, end = this.size) {
      if (end - start === 1 && start === this.place) return this.leaf;
      const length = end - start;
      const level = Math.log2(length);
      const hasPlace = start <= this.place && this.place < end;
      if (!hasPlace && Number.isInteger(level)) return this.#stored(level, start / length);
      const middle = start + 2 ** (Math.ceil(level) - 1);
      return parent(await this.root(start, middle), await this.root(middle, end));
    }

    /** @param {number} level @param {number} index @returns {Promise<Uint8Array>} */
    async #stored(level, index) {
      const tileLevel = Math.floor(level / 8);
      if (level % 8 > 0)
        return parent(await this.#stored(level - 1, index * 2), await this.#stored(level - 1, index * 2 + 1));
      const tile = Math.floor(index / TILE_WIDTH);
      const width = Math.min(TILE_WIDTH, Math.floor(this.size / TILE_WIDTH ** tileLevel) - tile * TILE_WIDTH);
      const path = tilePath(tileLevel, tile, width);
      const bytes =
        this.#tiles.get(path) ??
        read(path).then(async (answer) => new Uint8Array(await answer.arrayBuffer()));
      this.#tiles.set(path, bytes);
      return (await bytes).slice((index % TILE_WIDTH) * 32, (index % TILE_WIDTH) * 32 + 32);
    }
  }

  /** @typedef {{ seq: number, type: string, subject: string, digest: string }} Entry */
  /** @typedef {Record<string, unknown>} Line */

  /** The members that an entry records, by its type. Others record the member `record`. @type {Record<string, string[]>} */
  const MEMBERS = {
    'study.created': ['id', 'title', 'question', 'description', 'node', 'status', 'created_at'],
    'event.recorded': [
      'id',
      'source',
      'url',
      'retrieval',
      'event_type',
      'observer',
      'observed_at',
      'original_observed_at',
      'sha256',
      'previous_sha256',
      'reverts_to',
      'page_label',
    ],
  };

  /** What an entry records, from the file of its records. @param {number} seq @param {number} size */
  const readRecord = async (seq, size) => {
    const first = Math.floor((seq - 1) / RECORDS_PER_FILE) * RECORDS_PER_FILE + 1;
    const path = `records/${first}-${Math.min(first + RECORDS_PER_FILE - 1, size)}.jsonl`;
    const lines = (await (await read(path)).text()).split('\n');
    for (const line of lines) {
      if (line === '' || line.startsWith('{"kind":"entry"') || !line.includes(`"ledger_entry":${seq}`))
        continue;
      const value = /** @type {Line} */ (JSON.parse(line));
      if (value.ledger_entry === seq) return value;
    }
    throw new Error(`${path} has no record of entry ${seq}.`);
  };

  /** @param {Entry} entry @param {Line} line @param {URLSearchParams} claimed */
  const recordedPart = (entry, line, claimed) => {
    const names = MEMBERS[entry.type];
    if (!names) return line.record;
    // The line names an event's source by a number. Its id and its address come from the link, and the digest covers them.
    const all = /** @type {Line} */ ({ ...line, source: claimed.get('source'), url: claimed.get('url') });
    return Object.fromEntries(names.map((name) => [name, all[name]]));
  };

  /** The objects that a record names. @param {unknown} record */
  const objectsOf = (record) => {
    const {
      files = [],
      sha256: after,
      previous_sha256: before,
    } = /** @type {{ files?: { sha256: string }[], sha256?: string | null, previous_sha256?: string | null }} */ (
      record
    );
    const all = [after, before, ...files.map((file) => file.sha256)];
    return [...new Set(all.filter((each) => typeof each === 'string'))];
  };

  /** @param {HTMLElement} list @param {string} digest */
  const checkObject = async (list, digest) => {
    const say = addClaim(list, `The object ${digest} has this digest.`);
    const { body } = await read(`archive/${digest}`);
    const found = body && (await hashOf(body, (bytes) => say('', `${bytes} bytes hashed`)));
    if (found === digest) say('holds', 'Holds.');
    else say('fails', `Fails: the bytes of this copy have the digest ${found}.`);
  };

  /** @param {URLSearchParams} claimed */
  const checkEntry = async (claimed) => {
    const seq = Number(claimed.get('entry'));
    const list = byId('claims');
    list.replaceChildren();
    byId('record').hidden = false;
    byId('seq').textContent = String(seq);
    const key = document.body.querySelector('[data-key]')?.getAttribute('data-key') ?? '';
    byId('key').textContent = key;
    const checkpoint = await readCheckpoint();
    const signed = await isSigned(checkpoint, key);
    const saySigned = addClaim(
      list,
      `The checkpoint of ${checkpoint.size} entries is signed by the archive’s key.`,
    );
    if (signed === undefined)
      saySigned('claimed', 'This browser cannot verify Ed25519, or the page came without HTTPS.');
    else saySigned(signed ? 'holds' : 'fails', signed ? 'Holds.' : 'Fails.');
    const bytes = await readEntry(seq, checkpoint.size);
    const entry = /** @type {Entry} */ (JSON.parse(new TextDecoder().decode(bytes)));
    byId('subject').textContent = `${entry.type} ${entry.subject}`;
    const root = await new Tree(checkpoint.size, seq - 1, sha256(Uint8Array.of(0), bytes)).root();
    const isIncluded = entry.seq === seq && hex(root) === hex(fromBase64(checkpoint.root));
    const sayIncluded = addClaim(list, 'The entry is in the ledger that the checkpoint covers.');
    sayIncluded(isIncluded ? 'holds' : 'fails', isIncluded ? 'Holds.' : 'Fails.');
    const record = recordedPart(entry, await readRecord(seq, checkpoint.size), claimed);
    const isRecorded = hex(sha256(utf8(canonical(record)))) === entry.digest;
    const sayRecorded = addClaim(list, 'The record is what the entry recorded.');
    sayRecorded(isRecorded ? 'holds' : 'fails', isRecorded ? 'Holds.' : 'Fails.');
    for (const digest of objectsOf(record)) await checkObject(list, digest);
  };

  const start = () => {
    const claimed = new URLSearchParams(location.hash.slice(1));
    if (!/^[1-9]\d{0,14}$/.test(claimed.get('entry') ?? '')) return;
    checkEntry(claimed).catch((error) => {
      addClaim(byId('claims'), 'The verification stopped.')(
        'fails',
        error instanceof Error ? error.message : String(error),
      );
    });
  };

  const drop = byId('drop');
  const files = /** @type {HTMLInputElement} */ (byId('files'));
  /** @param {FileList | null | undefined} chosen */
  const checkAll = async (chosen) => {
    for (const file of chosen ?? []) await checkFile(file);
  };
  files.addEventListener('change', () => void checkAll(files.files));
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    void checkAll(event.dataTransfer?.files);
  });
  addEventListener('hashchange', start);
  start();
})();
